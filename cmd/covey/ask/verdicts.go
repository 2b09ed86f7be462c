package ask

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// shownTask is a task as `tasks show --json` prints it: with the verdicts of its
// gates, the state of its work, and why hooks have refused its completion. The task's own
// fields stay where scripts look for them.
type shownTask struct {
	tasks.Task
	api.Standing
	Refusals []view.Refusal `json:"refusals"`
}

// readStanding asks the running team for the standing of a task, or reads the store
// of a team that does not run.
func readStanding(ctx context.Context, place state.Place, task string) (api.Standing, error) {
	return cli.AskStore(ctx, place, func(ctx context.Context, c *api.Client) (api.Standing, error) {
		return c.Standing(ctx, task)
	}, func(ctx context.Context, s *tasks.Store) (api.Standing, error) {
		return merging.StandingOf(ctx, s, task)
	})
}

// verdictText formats a gate's verdict in one line. It names the tree, because the
// same gate may decide differently about other files.
func verdictText(out *term.Screen, v requests.Verdict) string {
	said, how := "refuses", term.Red
	if v.Pass {
		said, how = "agrees", term.Green
	}
	return out.Paint(how, said) + " " +
		term.PlainLine(fmt.Sprintf("%s (tree %.10s, %s, %s)", v.Command, v.Tree, v.Moment, term.Elapsed(v.Duration)))
}
