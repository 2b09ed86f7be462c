package teamtools

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
)

// completer lists a member's tasks at its turn end, and completes them if all
// gates agree (complete_on_pass).
type completer struct {
	board *TaskAPI
	on    func() bool
	warn  func(format string, args ...any)
}

// TaskLister returns the tasks that turn ends of members work on. While on
// returns true it completes those that passed their gates. It calls warn for a
// task that changed meanwhile.
func (b *TaskAPI) TaskLister(on func() bool, warn func(format string, args ...any)) teammate.TaskLister {
	return completer{b, on, warn}
}

var _ teammate.TaskCloser = completer{}

// InProgress lists the tasks that the gates judge.
func (c completer) InProgress(ctx context.Context, member string) ([]tasks.Task, error) {
	return c.board.deps.Store.InProgress(ctx, member)
}

// Passed completes tasks as covey, in the version that the gates judged. A task
// that has changed since stays in progress: its member is reminded of it, and the
// gates run again.
func (c completer) Passed(ctx context.Context, list []tasks.Task) error {
	if !c.on() {
		return nil
	}
	completed := tasks.Completed
	var errs []error
	for _, t := range list {
		if err := c.board.deps.Work.Secure(ctx, t); err != nil {
			errs = append(errs, err)
			continue
		}
		done, _, err := c.board.deps.Store.Update(ctx, actors.Actor{}, t.ID, tasks.Patch{
			Version: t.Version, Epoch: t.Epoch, Status: &completed, Reason: "its member's turn end passed all gates",
		})
		switch {
		case errors.Is(err, tasks.ErrConflict), errors.Is(err, tasks.ErrStale), errors.Is(err, tasks.ErrNotFound):
			c.warn("task %s passed its gates and is not completed, because it changed meanwhile: %v", t.ID, err)
		case err != nil:
			errs = append(errs, fmt.Errorf("complete task %s, which passed its gates: %w", t.ID, err))
		default:
			c.board.deps.News.Closed(done)
		}
	}
	return errors.Join(errs...)
}
