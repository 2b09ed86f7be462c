"""A rule engine for PreToolUse and Stop hooks.

Each file in rules/ has a head of "name: value" lines between two lines of three
dashes, and a message below. A rule fires if its pattern is found in its field, or
if what should be there is missing. A fault in the engine never refuses anything.
"""

import json
import os
import re
import sys


def read_rule(path):
    with open(path, encoding="utf-8") as file:
        _, head, message = file.read().split("---\n", 2)
    rule = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    rule["message"] = message.strip()
    return rule


def read_rules(folder):
    names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    return [read_rule(os.path.join(folder, name)) for name in names]


def text_of(rule, event):
    if rule["field"] == "transcript":
        with open(event["transcript_path"], encoding="utf-8") as file:
            return file.read()
    return str(event.get("tool_input", {}).get(rule["field"], ""))


def fires(rule, event):
    if rule["event"] != event["hook_event_name"]:
        return False
    if rule.get("tool", event.get("tool_name")) != event.get("tool_name"):
        return False
    text = text_of(rule, event)
    if "missing" in rule:
        return rule["missing"] not in text
    return re.search(rule["pattern"], text) is not None


def answer(event, rules):
    messages = [rule["message"] for rule in rules if fires(rule, event)]
    if not messages:
        return {}
    if event["hook_event_name"] == "Stop":
        return {"decision": "block", "reason": "\n".join(messages)}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "\n".join(messages),
        }
    }


def main():
    try:
        rules = read_rules(os.path.join(os.environ["CLAUDE_PLUGIN_ROOT"], "rules"))
        print(json.dumps(answer(json.load(sys.stdin), rules)))
    except Exception as fault:  # a broken rule must not stop all work
        print(json.dumps({"systemMessage": f"rule-book: {fault}"}))


main()
