package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/tasks"
)

// judgedTask is a task as `tasks show --json` prints it: with what its gates said.
// The task's own fields stay where scripts look for them.
type judgedTask struct {
	tasks.Task
	Verdicts []tasks.Verdict `json:"verdicts"`
}

// readVerdicts asks the running team what gates have said about a task, or reads the
// store of one that does not run.
func readVerdicts(ctx context.Context, place orchestrator.Place, task string) ([]tasks.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	client, err := orchestrator.Dial(ctx, place)
	if err == nil {
		defer client.Close()
		return client.Verdicts(ctx, task)
	}
	if !errors.Is(err, orchestrator.ErrNotRunning) {
		return nil, err
	}
	store, err := openStore(place)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return orchestrator.VerdictsOn(ctx, store, task)
}

// verdictText is what a gate has said, in one line. It names the tree, since the
// same gate may say something else of other files.
func (c *cli) verdictText(v tasks.Verdict) string {
	said, how := "refuses", red
	if v.Pass {
		said, how = "agrees", green
	}
	return c.out.paint(how, said) + " " +
		plainLine(fmt.Sprintf("%s (tree %.10s, %s, %s)", v.Command, v.Tree, v.Moment, elapsed(v.Duration)))
}
