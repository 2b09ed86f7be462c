package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Tools returns the tools that members of this version can have.
func Tools() []string {
	return []string{"Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "Agent", "Skill",
		"TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage", "AskLead", "ListMembers", "ListAgents"}
}

// foreignTools returns tools that only agent programs have.
func foreignTools() []string {
	return []string{"WebSearch", "NotebookEdit", "MultiEdit", "LS", "Task"}
}

// foreignTool reports whether an agent program may have a tool. Tools of MCP servers are
// named mcp__SERVER__TOOL; only the program knows its servers.
func foreignTool(name string) bool {
	return slices.Contains(foreignTools(), name) || strings.HasPrefix(name, "mcp__") && len(name) > len("mcp__")
}

// foreign reports whether the agent has tools of its own.
func (a Agent) foreign() bool { return a.Kind != Builtin && a.Kind != "" }

// checkTools checks tool names. A name close to a known one is a mistake; any other unknown
// name may be a tool of another program, so it only gets a warning. Tools of the servers of the
// spec are known; which ones a server has is known once it runs.
func checkTools(d *yaml.Decoder, names yaml.List[yaml.Value[string]], servers []MCPServer, foreign bool) {
	known := Tools()
	if foreign {
		known = append(known, foreignTools()...)
	}
	for _, name := range names.Items {
		ours := slices.ContainsFunc(servers, func(s MCPServer) bool {
			return name.V+"__" == s.ToolPrefix() || strings.HasPrefix(name.V, s.ToolPrefix())
		})
		if name.V == "" || ours || slices.Contains(known, name.V) || foreign && foreignTool(name.V) {
			continue
		}
		if near := d.Nearest(name.V, known); near != "" && !foreignTool(name.V) {
			d.Fail(name.At.At, "there is no tool %s; write %s", yaml.Quote(name.V), near)
			continue
		}
		d.Warn(name.At.At, "there is no tool %s in this version, so the name has no effect; the tools are %s",
			yaml.Quote(name.V), strings.Join(known, ", "))
	}
}
