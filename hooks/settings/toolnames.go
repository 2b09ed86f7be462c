package settings

import (
	"bytes"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// ToolNames returns the tools that rules and matchers may name: those of covey's own agent,
// and those that agent programs are known to have. Tools of MCP servers
// (mcp__SERVER__TOOL) are not listed.
func ToolNames() []string {
	return []string{"Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "Glob", "Grep", "Agent",
		"Task", "TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage", "AskLead",
		"ListMembers", "ListAgents", "WebFetch", "WebSearch", "NotebookEdit", "NotebookRead", "MultiEdit", "LS", "TodoWrite",
		"ExitPlanMode", "EnterPlanMode", "Skill", "SlashCommand", "AskUserQuestion", "StructuredOutput",
		"TaskOutput", "TaskStop", "LSP", "PowerShell", "ListMcpResourcesTool", "ReadMcpResourceTool",
		"ToolSearch", "Monitor", "EnterWorktree", "ExitWorktree", "apply_patch", "shell", "other"}
}

// KnownTool reports whether a name is that of a tool which covey knows, or may be that of a
// server's or plugin's tool. If not, near is the tool that was probably meant; empty if
// none is similar.
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

// sameLetters reports whether two words consist of the same letters, as after a swap of two
// letters.
func sameLetters(a, b string) bool {
	x, y := []byte(strings.ToLower(a)), []byte(strings.ToLower(b))
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}
