package teamtools

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Only its owner completes a task in progress (DESIGN 10.11), because the gates look at the
// owner's files. The store checks it within the change, so that a claim which was made a
// moment ago counts.

// may returns the check of a patch by this actor, for tasks.Patch.May.
func (a Actor) may(p tasks.Patch) func(tasks.Task) error {
	return func(t tasks.Task) error {
		if p.Status != nil && *p.Status == tasks.Completed {
			return a.mayEnd(t)
		}
		return a.mayChange(t)
	}
}

// mayEnd refuses the completion of somebody else's task in progress.
func (a Actor) mayEnd(t tasks.Task) error {
	switch {
	case t.Status != tasks.InProgress || t.Owner == a.Name || a.Force:
		return nil
	case a.operator():
		return fmt.Errorf("%w: %s has task %s in progress, and the gates look at the files of %s; complete it --as %s, or with --force",
			tasks.ErrOwned, t.Owner, t.ID, t.Owner, t.Owner)
	case a.Lead:
		return fmt.Errorf("%w: %s has task %s in progress, and only its owner completes it: the gates look at its files; "+
			"to end it otherwise give it another owner or delete it", tasks.ErrOwned, t.Owner, t.ID)
	}
	return a.mayChange(t)
}

// mayChange refuses any other change of somebody else's task in progress.
func (a Actor) mayChange(t tasks.Task) error {
	if t.Status != tasks.InProgress || t.Owner == a.Name || a.Lead || a.operator() || a.Force {
		return nil
	}
	return fmt.Errorf("%w: %s has task %s in progress, so only %s and the lead may change it; write to one of them",
		tasks.ErrOwned, t.Owner, t.ID, t.Owner)
}

// operator reports whether the operator acts, and for no member.
func (a Actor) operator() bool { return a.Session == 0 && a.Name == actors.Operator }

// Remove deletes a task. Its owner is told if it had the task in progress.
func (b *Board) Remove(ctx context.Context, by Actor, id string) (tasks.Task, error) {
	return b.ports.Store.Delete(ctx, by.Actor, id, by.mayChange)
}

// judgedKey is under what a context has the id of the task whose gate asks for something.
type judgedKey struct{}

// AskedByGateOf returns ctx for what a hook's process asks for that judges a task; an empty
// id is of a hook that judges none.
func AskedByGateOf(ctx context.Context, task string) context.Context {
	return context.WithValue(ctx, judgedKey{}, task)
}

// notByItsGate refuses that a task is completed by a gate that is asked whether it may be: the
// gates, that one among them, would be asked again, and so on.
func notByItsGate(ctx context.Context, t tasks.Task) error {
	if judged, _ := ctx.Value(judgedKey{}).(string); judged == t.ID && judged != "" {
		return fmt.Errorf("%w: task %s cannot be completed by a gate that judges it; a gate agrees by exit code 0", api.ErrDenied, t.ID)
	}
	return nil
}
