package orchestrator

import (
	"slices"

	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// scriptTools returns the tools that a script of the builtin agent may call. The member's
// spec says which of them it has.
func scriptTools() []string {
	return slices.Concat(settings.OwnTools(), []string{teamtools.ReportTool, teamtools.SpawnName, inbox.PlanTool, runner.AnswerTool})
}
