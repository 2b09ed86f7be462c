package orchestrator

import (
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// ownScript reports whether a script is played to members of the builtin agent
// alone, so that all tools that it can call are known.
func ownScript(team *configs.Team, path string) bool {
	played := false
	for _, a := range launch.AgentsInUse(team) {
		if a.Model.Script != path {
			continue
		}
		if a.Kind != configs.Builtin {
			return false
		}
		played = true
	}
	return played
}

// scriptTools are the tools that a script of the builtin agent may call. Which of
// them its member has, the member's spec says.
func scriptTools() []string {
	return slices.Concat(configs.Tools(), []string{teamtools.ReportTool, inbox.PlanTool, runner.AnswerTool})
}
