package teamtools

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Only its owner completes a task in progress, because the gates
// look at the owner's files. The store checks it within the transaction, so that
// a concurrent claim counts.

// may returns the check of a patch by this actor, for tasks.Patch.May.
func (a Actor) may(p tasks.Patch) func(tasks.Task) error {
	return func(t tasks.Task) error {
		if p.Status != nil && *p.Status == tasks.Completed {
			return a.checkComplete(t)
		}
		return a.checkChange(t)
	}
}

// checkComplete returns an error if another member has the task in progress and
// this actor completes it.
func (a Actor) checkComplete(t tasks.Task) error {
	switch {
	case t.Status != tasks.InProgress:
		return a.checkChange(t)
	case t.Owner == a.Name || a.Force:
		return nil
	case a.operator():
		return fmt.Errorf("%w: %s has task %s in progress, and the gates look at the files of %s; complete it --as %s, or with --force",
			tasks.ErrOwned, t.Owner, t.ID, t.Owner, t.Owner)
	case a.Lead:
		return fmt.Errorf("%w: %s has task %s in progress, and only its owner completes it: the gates look at its files; "+
			"to end it otherwise give it another owner or delete it", tasks.ErrOwned, t.Owner, t.ID)
	}
	return a.checkChange(t)
}

// checkChange returns an error if another member has the task in progress, or owns it where
// members only read what belongs to others, and this actor changes it otherwise.
func (a Actor) checkChange(t tasks.Task) error {
	switch {
	case t.Owner == a.Name || a.Lead || a.operator() || a.Force:
		return nil
	case t.Status != tasks.InProgress && t.Owner != "" && a.readsOthers:
		return fmt.Errorf("%w: task %s belongs to %s, and the spec has others_tasks: read, so only %s and the lead may change it; "+
			"write to one of them", tasks.ErrOwned, t.ID, t.Owner, t.Owner)
	case t.Status != tasks.InProgress:
		return nil
	}
	return fmt.Errorf("%w: %s has task %s in progress, so only %s and the lead may change it; write to one of them",
		tasks.ErrOwned, t.Owner, t.ID, t.Owner)
}

// operator reports whether the operator acts, and not on behalf of a member.
func (a Actor) operator() bool { return a.Session == 0 && a.Name == actors.Operator }

// Remove deletes a task. Its owner is told if it had the task in progress.
func (b *TaskAPI) Remove(ctx context.Context, by Actor, id string) (tasks.Task, error) {
	by.readsOthers = b.list.Load().readOthers
	return b.deps.Store.Delete(ctx, by.Actor, id, by.checkChange)
}

// judgedKey is the context key of the id of the task whose gate makes a call.
type judgedKey struct{}

// AskedByGateOf returns a ctx for calls of the process of a hook that judges
// task. The id is empty for a hook that judges none.
func AskedByGateOf(ctx context.Context, task string) context.Context {
	return context.WithValue(ctx, judgedKey{}, task)
}

// notByItsGate returns an error if a gate completes the task that it judges: the
// completion would run the gates again, without end.
func notByItsGate(ctx context.Context, t tasks.Task) error {
	if judged, _ := ctx.Value(judgedKey{}).(string); judged == t.ID && judged != "" {
		return fmt.Errorf("%w: task %s cannot be completed by a gate that judges it; a gate agrees by exit code 0", api.ErrDenied, t.ID)
	}
	return nil
}
