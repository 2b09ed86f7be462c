package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// completer is the task list of a member whose tasks are completed when its turn end
// has passed all gates (complete_on_pass).
type completer struct {
	store *tasks.Store
	on    func() bool
	warn  func(text string)
	// closed is told of each task that was completed; nil: nobody is.
	closed func(t tasks.Task)
}

// completer must be what a turn end asks for.
var _ teammate.TaskCloser = completer{}

// InProgress lists what the gates are asked about.
func (c completer) InProgress(ctx context.Context, member string) ([]tasks.Task, error) {
	return c.store.InProgress(ctx, member)
}

// Passed completes tasks in covey's name, each only as the gates have seen it. One that
// somebody has changed meanwhile stays in progress: its member is reminded of it, and
// the gates are asked about it as it is then.
func (c completer) Passed(ctx context.Context, list []tasks.Task) error {
	if !c.on() {
		return nil
	}
	completed := tasks.Completed
	var errs []error
	for _, t := range list {
		done, _, err := c.store.Update(ctx, actors.Actor{}, t.ID, tasks.Patch{
			Version: t.Version, Epoch: t.Epoch, Status: &completed, Reason: "its member's turn end passed all gates",
		})
		switch {
		case errors.Is(err, tasks.ErrConflict), errors.Is(err, tasks.ErrStale), errors.Is(err, tasks.ErrNotFound):
			c.warn(fmt.Sprintf("task %s passed its gates and is not completed, because it changed meanwhile: %v", t.ID, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("complete task %s, which passed its gates: %w", t.ID, err))
		case c.closed != nil:
			c.closed(done)
		}
	}
	return errors.Join(errs...)
}

// taskLister is what a member's turn end knows of its tasks.
func (c *crew) taskLister() teammate.TaskLister {
	return completer{store: c.store, on: c.completes, closed: c.closed, warn: func(text string) {
		c.journal.Tell(agent.Warning{Text: text})
	}}
}

// completes reports whether tasks are completed when a turn end passes.
func (c *crew) completes() bool { return c.completeOnPass != nil && c.completeOnPass() }

// stillOwed are the tasks for which a member may not go idle. With complete_on_pass
// those in progress are completed when it does, so they are no reason to refuse.
func (c *crew) stillOwed(own []tasks.Task) []tasks.Task {
	if !c.completes() {
		return own
	}
	var owed []tasks.Task
	for _, t := range own {
		if t.Status != tasks.InProgress {
			owed = append(owed, t)
		}
	}
	return owed
}
