package merging

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// StandingOf reads the standing of a task from a team's store.
func StandingOf(ctx context.Context, store *tasks.Store, task string) (api.Standing, error) {
	st := api.Standing{Verdicts: []requests.Verdict{}, Merges: []tasks.Merge{}, Requests: []requests.Request{}}
	verdicts, err := verdictsOn(ctx, store, task)
	if err != nil {
		return st, err
	}
	st.Verdicts = append(st.Verdicts, verdicts...)
	merges, err := store.Merges().List(ctx)
	if err != nil {
		return st, fmt.Errorf("the work on task %s: %w", task, err)
	}
	for _, m := range merges {
		if slices.Contains(m.Tasks, task) {
			st.Merges = append(st.Merges, m)
		}
	}
	open, err := store.Requests().Open(ctx, "")
	if err != nil {
		return st, fmt.Errorf("the questions about task %s: %w", task, err)
	}
	for _, r := range open {
		if inbox.PayloadOf(r).TaskID == task {
			st.Requests = append(st.Requests, r)
		}
	}
	return st, nil
}

// maxVerdictsShown bounds the verdicts in a standing. They all have to fit into one
// message of the bus, and more of them do not explain a task that is refused this
// often.
const maxVerdictsShown = 20

// verdictsOn returns the latest verdicts on a task, oldest first and without their
// output, which a review has. Only gates that judged a working copy or a merge have
// verdicts.
func verdictsOn(ctx context.Context, s *tasks.Store, task string) ([]requests.Verdict, error) {
	if task == "" {
		return []requests.Verdict{}, nil // the store returns the verdicts on all tasks for ""
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
