package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/wording"
)

// ToolNames lists the tools that rules and matchers may be about: those of
// covey's own agent, and those that agent programs are known to bring. Tools of
// MCP servers (mcp__SERVER__TOOL) are known to the servers alone.
func ToolNames() []string {
	return []string{"Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "Glob", "Grep", "Agent",
		"Task", "TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage", "ListMembers", "ListAgents",
		"WebFetch", "WebSearch", "NotebookEdit", "NotebookRead", "MultiEdit", "LS", "TodoWrite",
		"ExitPlanMode", "EnterPlanMode", "Skill", "SlashCommand", "AskUserQuestion", "StructuredOutput",
		"TaskOutput", "TaskStop", "LSP", "PowerShell", "ListMcpResourcesTool", "ReadMcpResourceTool",
		"ToolSearch", "Monitor", "EnterWorktree", "ExitWorktree", "apply_patch", "shell", "other"}
}

// KnownTool reports whether a name is that of a tool which covey knows, or may
// be that of a server's or plugin's tool. near is the tool that was probably
// meant where it is not; empty: none is like it.
func KnownTool(name string) (known bool, near string) {
	names := ToolNames()
	if slices.Contains(names, name) || strings.HasPrefix(name, "mcp__") || strings.ContainsAny(name, ":*") {
		return true, ""
	}
	for _, tool := range names {
		if strings.EqualFold(tool, name) || len(name) > 2 && sameLetters(tool, name) {
			return false, tool
		}
	}
	return false, wording.Typo(name, names)
}

// sameLetters reports whether two words are made of the same letters, as one is
// in which two letters are swapped.
func sameLetters(a, b string) bool {
	x, y := []byte(strings.ToLower(a)), []byte(strings.ToLower(b))
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

// misspelt warns of a rule whose tool is none. It stays in its list: it may be
// about a tool of a program that covey does not know.
func (r *settingsReader) misspelt(path, text string) {
	rule, err := ParseRule(text)
	if err != nil {
		return
	}
	known, near := KnownTool(rule.Tool)
	if known {
		return
	}
	if near == "" {
		r.warn(path, "%s is no tool that covey knows, so the rule %q may be about nothing", rule.Tool, text)
	} else {
		r.warn(path, "there is no tool %s, so the rule %q is about nothing: write %s", rule.Tool, text, near)
	}
	if flaw, ok := r.warnings[len(r.warnings)-1].(*Flaw); ok {
		flaw.Line = lineOf(r.data, path)
	}
}

// lineOf is the line of a JSON text where the value at a path such as
// permissions.deny[1] begins; 0: there is none.
func lineOf(data []byte, path string) int {
	d := json.NewDecoder(bytes.NewReader(data))
	at := -1
	var value func(here string) bool
	value = func(here string) bool {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if here == path {
			at = int(d.InputOffset())
			return false
		}
		switch token {
		case json.Delim('{'):
			for d.More() {
				key, err := d.Token()
				if err != nil || !value(strings.TrimPrefix(fmt.Sprintf("%s.%v", here, key), ".")) {
					return false
				}
			}
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				if !value(fmt.Sprintf("%s[%d]", here, i)) {
					return false
				}
			}
		default:
			return true
		}
		_, err = d.Token() // the closing bracket
		return err == nil
	}
	value("")
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(data[:at], []byte("\n"))
}
