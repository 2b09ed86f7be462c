package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Tools are the tools that members of this version can have.
func Tools() []string {
	return []string{"Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "Glob", "Grep", "Agent",
		"TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage", "ListMembers", "ListAgents"}
}

// foreignTools are tools that only agent programs have.
func foreignTools() []string {
	return []string{"WebFetch", "WebSearch", "NotebookEdit", "MultiEdit", "LS", "Task"}
}

// foreignTool reports whether an agent program may have a tool. Tools of MCP
// servers are named mcp__SERVER__TOOL, and the server is the program's to know.
func foreignTool(name string) bool {
	return slices.Contains(foreignTools(), name) || strings.HasPrefix(name, "mcp__") && len(name) > len("mcp__")
}

// foreign reports whether the agent brings tools of its own.
func (a Agent) foreign() bool { return a.Kind != Builtin && a.Kind != "" }

// checkTools looks at tool names. One that is nearly right is a mistake; another
// that is not known may be a tool of another program, so it gets a warning.
func checkTools(d *decoder, names list[value[string]], foreign bool) {
	known := Tools()
	if foreign {
		known = append(known, foreignTools()...)
	}
	for _, name := range names.items {
		if name.v == "" || slices.Contains(known, name.v) || foreign && foreignTool(name.v) {
			continue
		}
		if near := d.nearest(name.v, known); near != "" && !foreignTool(name.v) {
			d.fail(name.at.At, "there is no tool %s; write %s", yaml.Quote(name.v), near)
			continue
		}
		d.warn(name.at.At, "there is no tool %s in this version, so the name has no effect; the tools are %s",
			yaml.Quote(name.v), strings.Join(known, ", "))
	}
}
