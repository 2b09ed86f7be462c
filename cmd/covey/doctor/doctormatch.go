package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// subjectsOf returns the values that a matcher of an event is compared with; nil:
// unknown.
func subjectsOf(info hooks.EventInfo) []string {
	if info.Matcher == "tool_name" {
		return settings.ToolNames()
	}
	return info.Values
}

// matcherFlaw returns why a matcher can never match; the zero flaw: it can, or that is
// unknown.
func matcherFlaw(info hooks.EventInfo, matcher string) flaw {
	subjects := subjectsOf(info)
	trimmed := strings.TrimSpace(matcher)
	if trimmed == "" || trimmed == "*" {
		return flaw{}
	}
	if info.Matcher == "" {
		return flaw{fmt.Sprintf("%s has nothing to match: the matcher %q is ignored", info.Event, matcher),
			"delete the matcher", true}
	}
	// The tools of MCP servers are known only when they run.
	if len(subjects) == 0 || strings.Contains(matcher, "mcp__") {
		return flaw{}
	}
	group := hooks.Group{Matcher: matcher}
	listens := func(name string) bool { return settings.Listens(group, info.Event, name) }
	m, err := settings.Matcher(&group, &info)
	if err != nil {
		return flaw{} // it was reported when the file was read
	}
	if _, ok := m.Expression(); ok {
		// An expression that matches no known name might be meant for a server's
		// tools.
		if slices.ContainsFunc(subjects, listens) || listens("mcp__server__tool") {
			return flaw{}
		}
		return expressionFlaw(info, matcher, subjects)
	}
	for _, name := range m.List() {
		if slices.Contains(subjects, name) {
			continue
		}
		near := texts.Typo(name, subjects)
		if near == "" && info.Matcher == "tool_name" {
			return flaw{fmt.Sprintf("the matcher %q names %s, which is not a tool that covey knows", matcher, name),
				"leave it if an agent program of yours has it; a matcher of letters is a whole name, not a part of one", true}
		}
		return flaw{fmt.Sprintf("the matcher %q names %s, and there is no such %s", matcher, name, info.Matcher),
			"write " + cmp.Or(near, "one of: "+strings.Join(subjects, ", ")), false}
	}
	return flaw{}
}

// expressionFlaw describes an expression that matches nothing, with what was probably
// meant.
func expressionFlaw(info hooks.EventInfo, matcher string, subjects []string) flaw {
	text := fmt.Sprintf("the matcher %q fits no %s", matcher, info.Matcher)
	if tool, _, found := strings.Cut(matcher, "("); found && slices.Contains(subjects, tool) {
		return flaw{text, fmt.Sprintf("a matcher is a name or an expression: write matcher %q and `if: %s`",
			tool, matcher), false}
	}
	bare := strings.Trim(matcher, "^$ ")
	if near := texts.Typo(bare, subjects); near != "" {
		return flaw{text, "write " + near, false}
	}
	return flaw{text, "write a name such as " + subjects[0] + ", or an expression that is found in one", false}
}

// teamServer is the name under which mcp_tool hooks reach the team's own tools.
const teamServer = "covey"

// server checks that an mcp_tool hook names a known server. For files that were
// examined without a spec it is only a warning, because a spec may add the server.
func (x *hookExam) server(h *runner.Configured) flaw {
	known := []string{teamServer}
	for _, s := range x.set.Servers {
		known = append(known, s.Name)
	}
	name := h.Handler.Server
	if slices.Contains(known, name) {
		return flaw{}
	}
	wayOut := "write " + texts.Typo(name, known)
	if texts.Typo(name, known) == "" {
		wayOut = "list the plugin that brings it under plugins; there are " + strings.Join(known, ", ")
	}
	return flaw{fmt.Sprintf("there is no MCP server %q", name), wayOut + consequence(h), x.set.Team == nil}
}

// model checks that a hook names a model of the spec; otherwise another model
// answers, or none.
func (x *hookExam) model(h *runner.Configured) flaw {
	if x.set.Team == nil {
		return flaw{} // only a spec has models
	}
	names := slices.Sorted(maps.Keys(x.set.Team.Models))
	switch {
	case len(names) == 0:
		return flaw{"there is no model that could answer it", "add one under models" + consequence(h), false}
	case h.Handler.Model == "" || slices.Contains(names, h.Handler.Model):
		return flaw{}
	}
	return flaw{fmt.Sprintf("the spec has no model %q: another one answers", h.Handler.Model),
		"write one of " + strings.Join(names, ", ") + ", or leave model out", true}
}
