package launch

import (
	"slices"

	"github.com/coveyteam/covey/configs"
)

// OwnScript reports whether a script is played only to members of the builtin agent, so
// that all tools that it can call are known.
func OwnScript(team *configs.Team, path string) bool {
	played := false
	for _, a := range AgentsInUse(team) {
		// A script may be the model of several agents, or a fallback of another model. One
		// agent program among them is enough: its tools are its own, and covey does not
		// know them.
		plays := func(m configs.Model) bool { return m.Script == path }
		if !plays(a.Model) && !slices.ContainsFunc(team.Fallbacks(a.Model), plays) {
			continue
		}
		if a.Kind != configs.Builtin {
			return false
		}
		played = true
	}
	return played
}
