package tasks

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// Claim describes which member takes a task, and under which terms.
type Claim struct {
	Member string  // the new owner; empty: the actor
	Max    int     // Terms.Max of the member
	Skills *Skills // Terms.Skills of the member; they apply if it claims for itself
}

// terms returns the terms that bind the member.
func (c Claim) terms() Terms { return Terms{Max: c.Max, Skills: c.Skills} }

// Claim makes a member the owner of a task and sets the task in progress, in one
// change and under a new epoch. A pending task may be claimed by its owner, or by any
// member if it has none. Claiming a task that the member already has in progress
// changes nothing and is no error. A member for which somebody else claims gets a
// task assignment.
//
// Claim fails with ErrNotFound, ErrDone, ErrOwned, ErrBlocked, ErrUnsuited or
// ErrBusy; the first that applies, in this order.
func (s *Store) Claim(ctx context.Context, a actors.Actor, id string, c Claim) (Task, error) {
	if c.Member == "" {
		c.Member = a.Name
	}
	if err := store.CheckName("member to claim for", c.Member); err != nil {
		return Task{}, err
	}
	r, err := act(ctx, s.db.Job("claim"), a, func(t *txn) (*receiptRecord, error) { return t.claim(a, id, c) })
	return r.task(), err
}

// claim reads what the decision needs (at most c.Max entries of an index) and leaves
// the decision to claimable.
func (t *txn) claim(a actors.Actor, id string, c Claim) (*receiptRecord, error) {
	was, err := t.load(id)
	if err != nil {
		return nil, err
	}
	// What a task wants is a hint for those who choose among tasks. Whoever assigns one has
	// decided.
	if c.Member != a.Name {
		c.Skills = nil
	}
	again, err := c.claimable(was.Task, t.waiting(id), t.busy(c.Member, c.Max))
	if err != nil {
		return nil, err
	}
	if again {
		return &receiptRecord{Task: t.withBlocks(was)}, nil
	}
	rec := t.next(was)
	rec.Status, rec.Owner = InProgress, c.Member
	rec.Epoch++
	t.save(was, rec)
	losses{t}.forget(rec)
	t.emit(a, changeRecord{Op: Claimed, Task: rec})
	t.assign(a, rec, false)
	return &receiptRecord{Task: t.withBlocks(rec)}, nil
}

// Every change of a task takes the same steps: load the record, decide, copy it for
// its next version, save it next to the old one so that the indexes can follow, and
// emit an event.

// next copies a record for its next version.
func (t *txn) next(was *taskRecord) *taskRecord {
	rec := was.clone()
	rec.Version++
	rec.Updated = t.tx.Now()
	return rec
}

// Release takes away the tasks that a member has in progress: they become pending,
// without owner, under a new epoch. Use it for members that are not started again.
// Tasks that the member owns but has not started stay with it.
func (s *Store) Release(ctx context.Context, a actors.Actor, member, reason string) ([]Task, error) {
	if err := store.CheckName("member", member); err != nil {
		return nil, err
	}
	reason = store.Clean(reason)
	r, err := act(ctx, s.db.Job("release"), a, func(t *txn) (*receiptRecord, error) {
		return t.release(a, member, reason)
	})
	return r.Tasks, err
}

// release finds the tasks in the index of tasks in progress, in list order.
//
// The loss is recorded without a notice: the member does not run, and reads about it when
// it begins its next session (notifyAll).
func (t *txn) release(a actors.Actor, member, reason string) (*receiptRecord, error) {
	list := []taskRecord{}
	for _, n := range t.Bucket(bucketProgress).Numbers(store.NameKey(member), 0) {
		was, err := t.load(store.FormatID(n))
		if err != nil {
			return nil, fmt.Errorf("in progress by %s: %w", member, err)
		}
		rec := t.next(was)
		rec.Status, rec.Owner = Pending, ""
		rec.Epoch++
		t.save(was, rec)
		losses{t}.record(a, was, rec, reason)
		t.emit(a, changeRecord{Op: Released, Task: rec, Reason: reason})
		list = append(list, *t.withBlocks(rec))
	}
	return &receiptRecord{Tasks: list}, nil
}

// Refuse records that hooks did not agree to a task's completion, and why. The task
// does not change. Refuse fails with ErrNotFound if there is no such task.
func (s *Store) Refuse(ctx context.Context, a actors.Actor, id, reason string) error {
	return remark(ctx, s.db.Job("refuse"), a, id, changeRecord{Op: Refused, Reason: store.Clean(reason)})
}

// Await records that a task's completion waits for an answer, and from whom. The task
// does not change. Await fails with ErrNotFound if there is no such task.
func (s *Store) Await(ctx context.Context, a actors.Actor, id, whose string) error {
	return remark(ctx, s.db.Job("await"), a, id, changeRecord{Op: Awaits, Reason: store.Clean(whose)})
}

// remark emits an event about a task that does not change the task.
func remark(ctx context.Context, c *store.Job, a actors.Actor, id string, change changeRecord) error {
	_, err := act(ctx, c, a, func(t *txn) (*receiptRecord, error) {
		rec, err := t.load(id)
		if err != nil {
			return nil, err
		}
		change.Task = rec
		t.emit(a, change)
		return &receiptRecord{Task: t.withBlocks(rec), Error: change.Reason}, nil
	})
	return err
}

// Delete removes a task for good, whatever its status, and removes it from the
// BlockedBy of other tasks. The owners of tasks that this unblocks get a task
// assignment. A member that had the task in progress gets a TaskLost message, unless
// it is the actor. Delete returns the task as it last was. It fails with ErrNotFound
// if there is no such task, and with ErrStale as Update does. may is like Patch.May.
func (s *Store) Delete(ctx context.Context, a actors.Actor, id string, may func(Task) error) (Task, error) {
	r, err := act(ctx, s.db.Job("delete"), a, func(t *txn) (*receiptRecord, error) { return t.remove(a, id, may) })
	return r.task(), err
}

// remove unblocks the dependents first, while the dependency index still names them.
func (t *txn) remove(a actors.Actor, id string, may func(Task) error) (*receiptRecord, error) {
	rec, err := t.load(id)
	if err != nil {
		return nil, err
	}
	if err := t.checkNotLost(a, rec); err != nil {
		return nil, err
	}
	if may != nil {
		if err := may(rec.Task); err != nil {
			return nil, err
		}
	}
	last := t.withBlocks(rec)
	t.emit(a, changeRecord{Op: Deleted, Task: rec, Reason: rec.undone()})
	losses{t}.tellDeleted(a, rec)
	t.unblock(a, id)
	for _, dependent := range last.Blocks {
		t.revise(a, dependent, func(list []string) []string { return without(list, id) })
	}
	for _, blocker := range rec.BlockedBy {
		t.unlink(rec.number(), blocker)
	}
	t.indexOwner(rec, nil)
	t.tx.Mark(bucketReady, store.NumKey(rec.number()), false)
	t.tx.Erase(rec.place(), rec.Files.Blobs())
	return &receiptRecord{Task: last}, nil
}

// undone returns the journal's note that a deleted task was not done. Deleting a task
// asks no gate, and must not look like a way past the gates.
func (r *taskRecord) undone() string {
	switch {
	case r.Status == Completed:
		return ""
	case r.Owner == "":
		return "it was not done; no gate was asked"
	}
	return fmt.Sprintf("it was not done (%s, owned by %s); no gate was asked", r.Status, r.Owner)
}

// without returns list without s. The result is never nil.
func without(list []string, s string) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}
