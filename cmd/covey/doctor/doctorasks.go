package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/runner"
)

// teamServer is the name under which mcp_tool hooks reach the team's own tools.
const teamServer = "covey"

// server says that an mcp_tool hook names a server that nothing brings. Of hooks in
// files that no spec was named with, another spec may bring it.
func (x *hookExam) server(h *runner.Configured) flaw {
	known := []string{teamServer}
	for _, s := range x.set.Servers {
		known = append(known, s.Name)
	}
	name := h.Handler.Server
	if slices.Contains(known, name) {
		return flaw{}
	}
	wayOut := "write " + notation.Typo(name, known)
	if notation.Typo(name, known) == "" {
		wayOut = "list the plugin that brings it under plugins; there are " + strings.Join(known, ", ")
	}
	return flaw{fmt.Sprintf("there is no MCP server %q", name), wayOut + consequence(h), x.set.Team == nil}
}

// model says that a hook names a model that the spec does not have, so that another one
// answers, or that there is none to answer at all.
func (x *hookExam) model(h *runner.Configured) flaw {
	if x.set.Team == nil {
		return flaw{} // which models there are, a spec says
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
