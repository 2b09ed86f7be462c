package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

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
