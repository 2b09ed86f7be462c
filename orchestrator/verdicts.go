package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/verdicts"
)

// maxVerdictsShown is how many verdicts on a task are told of. A task that has been
// refused more often has a problem that more of them do not explain, and all of them
// have to fit into one message of the bus.
const maxVerdictsShown = 20

// Standing tells how a task stands. Everybody may ask.
func (c *Client) Standing(ctx context.Context, task string) (Standing, error) {
	return ask[Standing](ctx, c, verbStanding, taskID{ID: task})
}

// VerdictsOn gives the latest of what gates have said about a task, oldest first and
// without their output, which a review has. Only gates that looked at a working copy
// or a merge have verdicts.
func VerdictsOn(ctx context.Context, s *tasks.Store, task string) ([]verdicts.Verdict, error) {
	if task == "" {
		return []verdicts.Verdict{}, nil // which the store would take for every task
	}
	list, err := s.Verdicts().About(ctx, task)
	if err != nil {
		return nil, err
	}
	list = list[max(0, len(list)-maxVerdictsShown):]
	for i := range list {
		list[i].Log = ""
	}
	return list, nil
}
