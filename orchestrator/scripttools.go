package orchestrator

import (
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// ownScript reports whether a script is played only to members of the builtin agent, so
// that all tools that it can call are known.
func ownScript(team *configs.Team, path string) bool {
	played := false
	for _, a := range launch.AgentsInUse(team) {
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

// scriptTools returns the tools that a script of the builtin agent may call. The member's
// spec says which of them it has.
func scriptTools() []string {
	return slices.Concat(configs.Tools(), []string{teamtools.ReportTool, inbox.PlanTool, runner.AnswerTool})
}
