package tasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// Task returns the task with that id. It fails with ErrNotFound if there is none;
// proposed tasks are in Proposed only.
func (s *Store) Task(ctx context.Context, id string) (Task, error) {
	return store.View(ctx, s.db, "", func(r store.Reader) (Task, error) {
		rec, err := reader{r}.load(id)
		if err != nil {
			return Task{}, err
		}
		return reader{r}.task(rec)
	})
}

// List returns all tasks in the order of their ids.
func (s *Store) List(ctx context.Context) ([]Task, error) {
	return store.View(ctx, s.db, "read all tasks", s.allTasks)
}

// Changes are what Changed returns.
type Changes struct {
	All   bool     // Tasks is the whole list, as List returns it
	Tasks []Task   // those that are new or have changed, in the order of ids
	Gone  []string // ids of those that were deleted
	Now   uint64   // identifies the state of the store that this is
}

// Changed returns what has changed in the list of tasks since the state of an earlier call, as
// of one commit. A task may be among them that is as it was. If since is 0, or that state is
// too long ago, Changed returns all tasks.
func (s *Store) Changed(ctx context.Context, since uint64) (Changes, error) {
	return store.View(ctx, s.db, "read changed tasks", func(r store.Reader) (c Changes, err error) {
		numbers, now, known := s.db.Changed(r, since)
		if c.Now = now; !known {
			c.All = true
			c.Tasks, err = s.allTasks(r)
			return c, err
		}
		var there []uint64
		for _, n := range numbers {
			if id := store.FormatID(n); (reader{r}).exists(id) {
				there = append(there, n)
			} else {
				c.Gone = append(c.Gone, id)
			}
		}
		c.Tasks, err = reader{r}.tasks(there)
		return c, err
	})
}

// Proposed returns the tasks that wait for Confirm or Discard, in the order of their
// ids. After a crash they are those whose hooks were cut off.
func (s *Store) Proposed(ctx context.Context) ([]Task, error) {
	return store.View(ctx, s.db, "read proposed tasks", func(r store.Reader) ([]Task, error) {
		return store.All(r, bucketProposed, nil, func(k, v []byte) (Task, error) {
			rec, err := decodeTask(fmt.Sprintf("task %d", store.LastNum(k)), v)
			if err != nil {
				return Task{}, err
			}
			return reader{r}.task(rec)
		})
	})
}

// Ready returns the tasks that any member may claim, in the order of their ids:
// pending, without owner, with all blockers completed.
func (s *Store) Ready(ctx context.Context) ([]Task, error) {
	return s.indexed(ctx, "read ready tasks", bucketReady, nil)
}

// Owned returns the open tasks (pending or in progress) that a member owns, in
// the order of their ids.
func (s *Store) Owned(ctx context.Context, member string) ([]Task, error) {
	return s.indexed(ctx, "read tasks of "+store.Clip(member), bucketOwner, store.NameKey(member))
}

// Actable returns those of Owned that the member could work on now: in progress, or with all
// blockers completed.
func (s *Store) Actable(ctx context.Context, member string) ([]Task, error) {
	return store.View(ctx, s.db, "read what "+store.Clip(member)+" could work on", func(r store.Reader) ([]Task, error) {
		started := r.Bucket(bucketProgress)
		return reader{r}.tasks(slices.DeleteFunc(r.Bucket(bucketOwner).Numbers(store.NameKey(member), 0), func(n uint64) bool {
			return r.Bucket(bucketWaits).Any(store.NumKey(n)) && !started.Any(store.NameNumKey(member, n))
		}))
	})
}

// FirstReady returns the first of Ready that wants what suits. The bool is false if there is none.
func (s *Store) FirstReady(ctx context.Context, suits func(Wants) bool) (first Task, found bool, err error) {
	first, err = store.View(ctx, s.db, "look for a ready task", func(r store.Reader) (Task, error) {
		looks := 0
		for k := range r.Bucket(bucketReady).Each(nil) {
			if err := r.Stopped(looks); err != nil {
				return Task{}, err
			}
			looks++
			rec, err := reader{r}.load(store.FormatID(store.LastNum(k)))
			if err != nil {
				return Task{}, err
			}
			if found = suits(rec.Wants); found {
				return reader{r}.task(rec)
			}
		}
		return Task{}, nil
	})
	return first, found && err == nil, err
}

// AnyOpen reports whether there is a task that is not completed. Such a task without owner is
// ready, or waits, at last, for one that is or has an owner.
func (s *Store) AnyOpen(ctx context.Context) (bool, error) {
	return store.View(ctx, s.db, "look for open tasks", func(r store.Reader) (bool, error) {
		return r.Bucket(bucketOwner).Any(nil) || r.Bucket(bucketReady).Any(nil), nil
	})
}

// InProgress returns the tasks that a member has in progress, in the order of
// their ids.
func (s *Store) InProgress(ctx context.Context, member string) ([]Task, error) {
	return s.indexed(ctx, "read tasks in progress of "+store.Clip(member), bucketProgress, store.NameKey(member))
}

// indexed returns the tasks that the entries of an index name.
func (s *Store) indexed(ctx context.Context, what, index string, prefix []byte) ([]Task, error) {
	return store.View(ctx, s.db, what, func(r store.Reader) ([]Task, error) {
		return reader{r}.tasks(r.Bucket(index).Numbers(prefix, 0))
	})
}

// Snapshot is the team at one moment.
type Snapshot struct {
	Tasks   []Task          // as List returns them
	Members []actors.Member // as Members.List returns them
	Unread  map[string]int  // unread messages by member; only members that have some
}

// Snapshot returns tasks, members and the state of the mailboxes as of the same
// commit, which separate calls cannot do.
func (s *Store) Snapshot(ctx context.Context) (Snapshot, error) {
	return store.View(ctx, s.db, "snapshot", func(r store.Reader) (snap Snapshot, err error) {
		if snap.Tasks, err = s.allTasks(r); err != nil {
			return snap, err
		}
		snap.Unread = mail.Counts(r)
		snap.Members, err = actors.All(r)
		return snap, err
	})
}

// allTasks reads all tasks. Blocks come from one pass over the dependencies rather
// than from one search per task.
func (s *Store) allTasks(r store.Reader) ([]Task, error) {
	blocks := map[uint64][]string{}
	for k := range r.Bucket(bucketDeps).Each(nil) {
		blocker := store.LastNum(k[:8])
		blocks[blocker] = append(blocks[blocker], store.FormatID(store.LastNum(k)))
	}
	pass := s.decoded.pass()
	list := make([]Task, 0, len(pass.old))
	for k, v := range r.Bucket(bucketTasks).Each(nil) {
		if err := r.Stopped(len(list)); err != nil {
			return nil, err
		}
		rec, err := pass.record(store.LastNum(k), v)
		if err != nil {
			return nil, err
		}
		t, err := rec.Open(r.Blobs())
		if err != nil {
			return nil, err
		}
		if b := blocks[store.LastNum(k)]; b != nil {
			t.Blocks = b
		}
		list = append(list, t)
	}
	pass.end()
	return list, nil
}
