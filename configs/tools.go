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

// CanWrite reports whether a member can change files, possibly after approval of its plan.
func (m *Member) CanWrite() bool {
	return m.PermissionMode != Plan && (m.Tools == nil || slices.ContainsFunc(m.Tools, func(tool string) bool {
		return slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit", "Bash"}, tool)
	}))
}

// OnlyReads reports whether a member can change nothing, by its tools and its mode. It gets a
// task that it was not given only if the task says what it wants, because most tasks are to
// change something.
func (m *Member) OnlyReads() bool {
	return !m.CanWrite() && !slices.ContainsFunc(m.Tools, func(tool string) bool { return strings.HasPrefix(tool, "mcp__") })
}

// untaken warns of a task without an owner that no member takes by itself, although some
// members take tasks.
func (r *taskRules) untaken(at *yaml.Node, t Task, of *Team) {
	var lacks []string
	for _, m := range of.Members() {
		switch lack := m.lacks(t); {
		case !m.SelfClaim:
		case lack == "":
			return
		default:
			lacks = append(lacks, m.Name+" "+lack)
		}
	}
	if t.Owner == "" && len(lacks) > 0 {
		r.Warn(at.At, "no member takes this task by itself: %s; name an owner, give a member what it lacks, "+
			"or say what is enough, such as wants: {tools: [Read]}", strings.Join(lacks, ", "))
	}
}

// lacks says why a member does not take a task by itself, or "".
func (m *Member) lacks(t Task) string {
	has := func(all []string) func(string) bool {
		return func(one string) bool { return !slices.Contains(all, one) }
	}
	switch {
	case t.WantsRole != "" && t.WantsRole != m.Role:
		return "lacks role " + t.WantsRole
	case slices.ContainsFunc(t.WantsLabels, has(m.Labels)):
		return "lacks a label"
	case m.Tools != nil && slices.ContainsFunc(t.WantsTools, has(m.Tools)):
		return "lacks a tool"
	case m.OnlyReads() && t.WantsRole == "" && len(t.WantsLabels)+len(t.WantsTools) == 0:
		return "only reads"
	}
	return ""
}
