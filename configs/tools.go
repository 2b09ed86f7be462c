package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
)

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
func checkTools(d *yaml.Decoder, names *yaml.Node, servers []MCPServer, foreign bool) {
	known := settings.OwnTools()
	if foreign {
		known = append(known, foreignTools()...)
	}
	for name := range names.Texts() {
		ours := slices.ContainsFunc(servers, func(s MCPServer) bool {
			return name.Text+"__" == s.ToolPrefix() || strings.HasPrefix(name.Text, s.ToolPrefix())
		})
		if ours || slices.Contains(known, name.Text) || foreign && foreignTool(name.Text) {
			continue
		}
		if near := d.Nearest(name.Text, known); near != "" && !foreignTool(name.Text) {
			d.Fail(name.At, "there is no tool %s; write %s", yaml.Quote(name.Text), near)
			continue
		}
		d.Warn(name.At, "there is no tool %s in this version, so the name has no effect; the tools are %s",
			yaml.Quote(name.Text), strings.Join(known, ", "))
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
func (r *taskRules) untaken(t *taskSpec, of *Team) {
	var lacks []string
	for m := range of.EachAndTemplates() {
		switch lack := m.lacks(t.Task); {
		case !m.SelfClaim:
		case lack == "":
			return
		default:
			lacks = append(lacks, m.Name+" "+lack)
		}
	}
	if t.Owner == "" && len(lacks) > 0 {
		r.Warn(orElse(t.at.Lookup("subject"), t.at).At, "no member takes this task by itself: %s; name an owner, give a member what it lacks, "+
			"or say what is enough, such as wants: {tools: [Read]}", strings.Join(lacks, ", "))
	}
}

// lacks returns why a member does not take a task by itself, or "".
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
