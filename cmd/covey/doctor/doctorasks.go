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
	wayOut := "write " + notation.Typo(name, known)
	if notation.Typo(name, known) == "" {
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
