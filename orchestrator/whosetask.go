package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// A task that a member has in progress is that member's (DESIGN 10.11): the gates look at
// its files, so nobody else can say that it is done. The store asks within the change, so
// that a task which was claimed a moment ago counts as well.

// may gives the check of a patch by this actor, for tasks.Patch.May.
func (a actor) may(p tasks.Patch) func(tasks.Task) error {
	return func(t tasks.Task) error {
		if p.Status != nil && *p.Status == tasks.Completed {
			return a.mayEnd(t)
		}
		return a.mayChange(t)
	}
}

// mayEnd refuses the completion of somebody else's task in progress.
func (a actor) mayEnd(t tasks.Task) error {
	switch {
	case t.Status != tasks.InProgress || t.Owner == a.Name || a.force:
		return nil
	case a.operator():
		return fmt.Errorf("%w: %s has task %s in progress, and the gates look at the files of %s; complete it --as %s, or with --force",
			tasks.ErrOwned, t.Owner, t.ID, t.Owner, t.Owner)
	case a.lead:
		return fmt.Errorf("%w: %s has task %s in progress, and only its owner completes it: the gates look at its files; "+
			"to end it otherwise give it another owner or delete it", tasks.ErrOwned, t.Owner, t.ID)
	}
	return a.mayChange(t)
}

// mayChange refuses any other change of somebody else's task in progress.
func (a actor) mayChange(t tasks.Task) error {
	if t.Status != tasks.InProgress || t.Owner == a.Name || a.lead || a.operator() || a.force {
		return nil
	}
	return fmt.Errorf("%w: %s has task %s in progress, so only %s and the lead may change it; write to one of them",
		tasks.ErrOwned, t.Owner, t.ID, t.Owner)
}

// operator says whether a person acts, and for no member.
func (a actor) operator() bool { return a.Session == 0 && a.Name == actors.Operator }

// remove deletes a task. Its owner is told if it had the task in progress.
func (b *board) remove(ctx context.Context, by actor, id string) (tasks.Task, error) {
	return b.store.Delete(ctx, by.Actor, id, by.mayChange)
}
