package tasks

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
)

// Claim says who takes a task, and how many that member may have.
type Claim struct {
	Member string  // who becomes the owner; empty: the actor
	Max    int     // Terms.Max of the member
	Skills *Skills // Terms.Skills of the member; they count if it claims for itself
}

// terms are what binds the member.
func (c Claim) terms() Terms { return Terms{Max: c.Max, Skills: c.Skills} }

// Claim makes a member the owner of a task and sets it in progress, in one
// step, under a new epoch. A pending task may be claimed by its owner, or by
// anybody when it has none. Claiming what the member has in progress already
// changes nothing and is no error. A member that somebody else claims for gets
// a task assignment.
//
// It fails with ErrNotFound, ErrDone, ErrOwned, ErrBlocked, ErrUnsuited or ErrBusy,
// whichever of them comes first.
func (s *Store) Claim(ctx context.Context, a actors.Actor, id string, c Claim) (Task, error) {
	if c.Member == "" {
		c.Member = a.Name
	}
	if err := kv.CheckName("member to claim for", c.Member); err != nil {
		return Task{}, err
	}
	r, err := act(ctx, s.db.Job("claim"), a, func(t *txn) (*receiptRecord, error) { return t.claim(a, id, c) })
	return r.task(), err
}

// claim reads what the decision needs, at most c.Max entries of an index, and
// leaves the decision to claimable.
func (t *txn) claim(a actors.Actor, id string, c Claim) (*receiptRecord, error) {
	was, err := t.load(id)
	if err != nil {
		return nil, err
	}
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
	losses{t}.regain(rec)
	t.tell(a, changeRecord{Op: Claimed, Task: rec})
	t.assign(a, rec, false)
	return &receiptRecord{Task: t.withBlocks(rec)}, nil
}

// Every change of a task goes the same way: load the record, decide, copy it for
// its next version, save it beside the old one so that the indexes can follow,
// and tell what happened.

// next copies a record for its next version.
func (t *txn) next(was *taskRecord) *taskRecord {
	rec := was.clone()
	rec.Version++
	rec.Updated = t.tx.Now()
	return rec
}

// Release takes the tasks that a member has in progress away from it: they
// become pending, without owner, under a new epoch. It is for members that are
// not started again. Tasks that the member owns but has not begun stay its own.
func (s *Store) Release(ctx context.Context, a actors.Actor, member, reason string) ([]Task, error) {
	if err := kv.CheckName("member", member); err != nil {
		return nil, err
	}
	reason = kv.Clean(reason)
	r, err := act(ctx, s.db.Job("release"), a, func(t *txn) (*receiptRecord, error) {
		return t.release(a, member, reason)
	})
	return r.Tasks, err
}

// release goes by the index of what the member has in progress, in list order.
func (t *txn) release(a actors.Actor, member, reason string) (*receiptRecord, error) {
	list := []taskRecord{}
	for _, n := range t.Bucket(bucketProgress).Numbers(kv.NameKey(member), 0) {
		was, err := t.load(kv.FormatID(n))
		if err != nil {
			return nil, fmt.Errorf("in progress by %s: %w", member, err)
		}
		rec := t.next(was)
		rec.Status, rec.Owner = Pending, ""
		rec.Epoch++
		t.save(was, rec)
		losses{t}.lose(a, was, rec, reason)
		t.tell(a, changeRecord{Op: Released, Task: rec, Reason: reason})
		list = append(list, *t.withBlocks(rec))
	}
	return &receiptRecord{Tasks: list}, nil
}

// Refuse notes that hooks did not agree to a task's completion, for the reason
// given. The task stays as it is. It fails with ErrNotFound when there is none.
func (s *Store) Refuse(ctx context.Context, a actors.Actor, id, reason string) error {
	return remark(ctx, s.db.Job("refuse"), a, id, changeRecord{Op: Refused, Reason: kv.Clean(reason)})
}

// Await notes that a task's completion waits for an answer, and for whose. The task
// stays as it is. It fails with ErrNotFound when there is none.
func (s *Store) Await(ctx context.Context, a actors.Actor, id, whose string) error {
	return remark(ctx, s.db.Job("await"), a, id, changeRecord{Op: Awaits, Reason: kv.Clean(whose)})
}

// remark tells of something about a task that does not change it.
func remark(ctx context.Context, c *kv.Job, a actors.Actor, id string, change changeRecord) error {
	_, err := act(ctx, c, a, func(t *txn) (*receiptRecord, error) {
		rec, err := t.load(id)
		if err != nil {
			return nil, err
		}
		change.Task = rec
		t.tell(a, change)
		return &receiptRecord{Task: t.withBlocks(rec), Error: change.Reason}, nil
	})
	return err
}

// Delete removes a task for good, whatever its status, and takes it out of the
// BlockedBy of others; the owners of those that thereby have nothing to wait
// for any more get a task assignment. Who had it in progress, unless it is the actor, gets
// a TaskLost message. It returns the task as it last was, and
// fails with ErrNotFound when there is none, and with ErrStale as Update does. may is
// as Patch.May.
func (s *Store) Delete(ctx context.Context, a actors.Actor, id string, may func(Task) error) (Task, error) {
	r, err := act(ctx, s.db.Job("delete"), a, func(t *txn) (*receiptRecord, error) { return t.remove(a, id, may) })
	return r.task(), err
}

// remove takes a task out in an order in which each step finds what it needs:
// dependents are let go while the dependency still says who they are.
func (t *txn) remove(a actors.Actor, id string, may func(Task) error) (*receiptRecord, error) {
	rec, err := t.load(id)
	if err != nil {
		return nil, err
	}
	if err := t.holds(a, rec); err != nil {
		return nil, err
	}
	if may != nil {
		if err := may(rec.Task); err != nil {
			return nil, err
		}
	}
	last := t.withBlocks(rec)
	t.tell(a, changeRecord{Op: Deleted, Task: rec, Reason: rec.undone()})
	losses{t}.tellDeleted(a, rec)
	t.unblock(a, id)
	for _, dependent := range last.Blocks {
		t.revise(a, dependent, func(list []string) []string { return without(list, id) })
	}
	for _, blocker := range rec.BlockedBy {
		t.unlink(rec.number(), blocker)
	}
	t.indexOwner(rec, nil)
	t.tx.Mark(bucketReady, kv.NumKey(rec.number()), false)
	t.tx.Erase(rec.place(), rec.Files.Blobs())
	return &receiptRecord{Task: last}, nil
}

// undone says in the journal that a deleted task was not done: deleting it asks no
// gate, and must not look like a way past them.
func (r *taskRecord) undone() string {
	switch {
	case r.Status == Completed:
		return ""
	case r.Owner == "":
		return "it was not done; no gate was asked"
	}
	return fmt.Sprintf("it was not done (%s, owned by %s); no gate was asked", r.Status, r.Owner)
}

// without gives list without s. The result is never nil.
func without(list []string, s string) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}
