package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
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
	return false, notation.Typo(name, names)
}

// sameLetters reports whether two words are made of the same letters, as one is
// in which two letters are swapped.
func sameLetters(a, b string) bool {
	x, y := []byte(strings.ToLower(a)), []byte(strings.ToLower(b))
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

// PatchTool is the tool by which Codex changes files.
const PatchTool = "apply_patch"

// formerNames are other names under which a tool is known to matchers: what it was
// called before, and for what changes a file Codex's patch.
func formerNames(tool string) []string {
	switch tool {
	case "Agent":
		return []string{"Task"}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return []string{PatchTool}
	}
	return nil
}
