#!/bin/sh
# PreToolUse hook for Bash: git push is denied, with whatever options it comes.
# It reads the call as it stands in the JSON on stdin, so a push that is
# disguised (in a variable, in a script) gets by: rather a sign than a fence.
if grep -Eq '"command" *: *"([^"\\]|\\.)*git( +(-c|-C) +[^ ]+| +--?[^ ]+)* +push([^a-z0-9_-]|$)'; then
	cat <<-'JSON'
	{
	  "hookSpecificOutput": {
	    "hookEventName": "PreToolUse",
	    "permissionDecision": "deny",
	    "permissionDecisionReason": "Publishing is left to a person: commit, and say what there is to push."
	  }
	}
	JSON
fi
