package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/verdicts"
)

// shownTask is a task as `tasks show --json` prints it: with what its gates said, and
// what has become of its work. The task's own fields stay where scripts look for them.
type shownTask struct {
	tasks.Task
	orchestrator.Standing
}

// readStanding asks the running team how a task stands, or reads the store of one that
// does not run.
func readStanding(ctx context.Context, place orchestrator.Place, task string) (orchestrator.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	client, err := orchestrator.Dial(ctx, place)
	if err == nil {
		defer client.Close()
		return client.Standing(ctx, task)
	}
	if !errors.Is(err, orchestrator.ErrNotRunning) {
		return orchestrator.Standing{}, err
	}
	store, err := openStore(place)
	if err != nil {
		return orchestrator.Standing{}, err
	}
	defer store.Close()
	return orchestrator.StandingOf(ctx, store, task)
}

// verdictText is what a gate has said, in one line. It names the tree, since the
// same gate may say something else of other files.
func (c *cli) verdictText(v verdicts.Verdict) string {
	said, how := "refuses", red
	if v.Pass {
		said, how = "agrees", green
	}
	return c.out.paint(how, said) + " " +
		plainLine(fmt.Sprintf("%s (tree %.10s, %s, %s)", v.Command, v.Tree, v.Moment, elapsed(v.Duration)))
}
