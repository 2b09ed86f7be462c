package tasks

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// A member with tasks in progress holds a lease on them: its session, which the
// process that runs the member holds. A lease does not expire. A member that is
// silent for an hour may be thinking, stopped, or waiting for a person; only the end
// of what runs it ends the lease. Attach begins a session, Detach ends it, and
// opening the store ends all sessions: the process that had the file open before is
// dead, or the file would be locked. So a crash needs to leave behind only the epoch
// in the file and the file's lock, and no rule depends on a clock.

// Members are the members of a team and their sessions.
type Members struct {
	db   *store.DB
	held sync.Map // names of the attached members
}

// Detach says that what ran a member is gone for good and can make no more changes.
// The member keeps its tasks until Release.
func (m *Members) Detach(member string) {
	m.held.Delete(member)
}

// Lapsed returns the names of the members, in order, that have tasks in progress but
// no session: they were not attached since the store was opened, or were detached.
// The caller gives them time to come back and then releases their tasks.
func (m *Members) Lapsed(ctx context.Context) ([]string, error) {
	return store.View(ctx, m.db, "members whose session nobody holds", func(r store.Reader) ([]string, error) {
		var names []string
		for k := range r.Bucket(bucketProgress).Each(nil) {
			name, _, ok := store.SplitName(k)
			if _, held := m.held.Load(name); ok && !held {
				names = append(names, name)
			}
		}
		return slices.Compact(names), nil
	})
}

// Attach begins a member's session under a new Epoch, which ends the rights of all
// earlier sessions, and gives each task that the member has in progress a new epoch.
// The first Attach creates the member and calls newSession for the UUID of its
// conversation; newSession runs in the committer, so it must be quick.
//
// The member counts as attached only once the change is on disk: until then its earlier
// session may still be the valid one.
func (m *Members) Attach(ctx context.Context, name string, newSession func() string) (actors.Member, error) {
	if err := store.CheckName("member", name); err != nil {
		return actors.Member{}, err
	}
	member, err := submit(ctx, m.db.Job("attach"), func(tx *store.Tx) (actors.Member, error) {
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

// resume gives the member's tasks in progress a new epoch as well, so that neither
// the old session nor the old epoch can be used to write.
func (t *txn) resume(name string) error {
	for _, n := range t.Bucket(bucketProgress).Numbers(store.NameKey(name), 0) {
		was, err := t.load(store.FormatID(n))
		if err != nil {
			return fmt.Errorf("in progress by %s: %w", name, err)
		}
		rec := t.next(was)
		rec.Epoch++
		t.save(was, rec)
		t.emit(actors.Actor{}, changeRecord{Op: Updated, Task: rec, Fields: []string{"epoch"}})
	}
	return losses{t}.notifyAll(name)
}

// Set stores the member's Turn, State and Reason; its Session stays. It fails with
// ErrNotFound before the first Attach, and with ErrStale if Epoch is set and is not
// the member's epoch.
func (m *Members) Set(ctx context.Context, member actors.Member) error {
	reason, err := store.CleanShort("reason", member.Reason)
	if err != nil {
		return err
	}
	member.Reason = reason
	return m.db.Job("set member").Submit(ctx, func(t *store.Tx) error { return actors.Change(t, member) })
}

// Renew replaces the member's conversation by the one with the UUID session. Its errors are
// those of Set.
func (m *Members) Renew(ctx context.Context, member actors.Member, session string) error {
	return m.db.Job("renew session").Submit(ctx, func(t *store.Tx) error { return actors.Renew(t, member, session) })
}

// Find returns the member of that name. The bool is false if it was never attached.
func (m *Members) Find(ctx context.Context, name string) (found actors.Member, ok bool, err error) {
	found, err = store.View(ctx, m.db, "member "+store.Clip(name), func(r store.Reader) (member actors.Member, err error) {
		member, ok, err = actors.Find(r, name)
		return member, err
	})
	return found, ok, err
}

// List returns all members that were ever attached, ordered by name.
func (m *Members) List(ctx context.Context) ([]actors.Member, error) {
	return store.View(ctx, m.db, "members", actors.All)
}
