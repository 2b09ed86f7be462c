package tasks

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
)

// Who has a task in progress holds a lease on it: the lease is the member's session, and
// whoever runs the member holds that. A lease has no time that runs out. A member that
// says nothing for an hour may be thinking, or stopped, or waiting for a person; only the
// end of what runs it ends the lease. Attach begins one, LetGo ends it, and opening the
// store ends all of them: who had it open before is dead, or the file would be locked.
// So the epoch in the file and the file's lock are all that a crash has to leave behind,
// and no clock is asked.

// Members are the members of a team, and who holds their sessions.
type Members struct {
	db   *kv.DB
	held sync.Map // names of the members whose session somebody holds
}

// LetGo says that what ran a member is gone for good, and that nothing of it can make
// changes any more. Its tasks stay its own until they are released.
func (m *Members) LetGo(member string) {
	m.held.Delete(member)
}

// Lapsed names the members, in order, that have tasks in progress while nobody holds
// their session: those that were not attached since the store was opened, or were let go.
// Whoever runs the team gives them time to come back, and releases their tasks then.
func (m *Members) Lapsed(ctx context.Context) ([]string, error) {
	return kv.View(ctx, m.db, "members whose session nobody holds", func(r kv.Reader) ([]string, error) {
		var names []string
		r.Bucket(bucketProgress).Each(nil, func(k, _ []byte) bool {
			name, _, ok := kv.SplitName(k)
			if _, held := m.held.Load(name); ok && !held {
				names = append(names, name)
			}
			return true
		})
		return slices.Compact(names), nil
	})
}

// Attach begins a member's session: under a new Epoch, which ends the rights
// of all earlier ones, with a new epoch for each task that it has in progress.
// The first time it makes the member, asking newSession (in the committer, so
// it must be quick) for the UUID of its conversation.
func (m *Members) Attach(ctx context.Context, name string, newSession func() string) (actors.Member, error) {
	if err := kv.CheckName("member", name); err != nil {
		return actors.Member{}, err
	}
	member, err := submit(ctx, m.db.Job("attach"), func(tx *kv.Tx) (actors.Member, error) {
		member, err := actors.Begin(tx, name, newSession)
		if err == nil {
			err = changing(tx).resume(name)
		}
		return member, err
	})
	if err == nil {
		m.held.Store(name, true)
	}
	return member, err
}

// resume raises the epochs of a member's work with its own, so that neither can be
// used to write past the other.
func (t *txn) resume(name string) error {
	for _, n := range t.Bucket(bucketProgress).Numbers(kv.NameKey(name), 0) {
		was, err := t.load(kv.FormatID(n))
		if err != nil {
			return fmt.Errorf("in progress by %s: %w", name, err)
		}
		rec := t.next(was)
		rec.Epoch++
		t.save(was, rec)
		t.tell(actors.Actor{}, changeRecord{Op: Updated, Task: rec, Fields: []string{"epoch"}})
	}
	return losses{t}.tellAll(name)
}

// Set stores the member's Turn, State and Reason; its Session stays. It
// fails with ErrNotFound before the first Attach and with ErrStale when Epoch
// is set and not the member's.
func (m *Members) Set(ctx context.Context, member actors.Member) error {
	reason, err := kv.CleanShort("reason", member.Reason)
	if err != nil {
		return err
	}
	member.Reason = reason
	return m.db.Job("set member").Submit(ctx, func(t *kv.Tx) error { return actors.Change(t, member) })
}

// List gives all members that have ever been attached, by name.
func (m *Members) List(ctx context.Context) ([]actors.Member, error) {
	return kv.View(ctx, m.db, "members", actors.All)
}
