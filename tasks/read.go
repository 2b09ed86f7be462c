package tasks

import (
	"context"
	"fmt"
)

// Task gives the task with that id. It fails with ErrNotFound when there is
// none, or none yet: proposed tasks are in Proposed only.
func (s *Store) Task(ctx context.Context, id string) (Task, error) {
	var task Task
	err := s.view(ctx, func(r reader) error {
		rec, err := r.load(id)
		if err != nil {
			return err
		}
		task, err = r.task(rec)
		return err
	})
	return task, err
}

// List gives all tasks in the order of their ids.
func (s *Store) List(ctx context.Context) ([]Task, error) {
	return readList(ctx, s, "all tasks", reader.allTasks)
}

// Proposed gives the tasks that wait for Confirm or Discard, in the order of
// their ids: after a crash, those whose hooks were cut off.
func (s *Store) Proposed(ctx context.Context) ([]Task, error) {
	return readList(ctx, s, "proposed tasks", reader.proposed)
}

// Ready gives the tasks that anybody may claim, in the order of their ids:
// pending, without owner, with all blockers completed.
func (s *Store) Ready(ctx context.Context) ([]Task, error) {
	return readList(ctx, s, "ready tasks", func(r reader) ([]Task, error) {
		return r.tasks(suffixes(r.bucket(bucketReady), nil, 0))
	})
}

// Owned gives the open tasks (pending or in progress) that a member owns, in
// the order of their ids.
func (s *Store) Owned(ctx context.Context, member string) ([]Task, error) {
	return readList(ctx, s, "tasks of "+clip(member), func(r reader) ([]Task, error) {
		return r.tasks(suffixes(r.bucket(bucketOwner), nameKey(member), 0))
	})
}

// InProgress gives the tasks that a member has in progress, in the order of
// their ids.
func (s *Store) InProgress(ctx context.Context, member string) ([]Task, error) {
	return readList(ctx, s, "tasks in progress of "+clip(member), func(r reader) ([]Task, error) {
		return r.tasks(suffixes(r.bucket(bucketProgress), nameKey(member), 0))
	})
}

// Snapshot is the team at one moment.
type Snapshot struct {
	Tasks   []Task         // as of List
	Members []Member       // as of Members
	Unread  map[string]int // unread messages by member; only members that have some
}

// Snapshot gives tasks, members and the state of the mailboxes as of the same
// commit, which separate calls do not.
func (s *Store) Snapshot(ctx context.Context) (Snapshot, error) {
	var snap Snapshot
	err := s.view(ctx, func(r reader) error {
		var err error
		if snap.Tasks, err = r.allTasks(); err != nil {
			return err
		}
		if snap.Members, err = r.members(); err != nil {
			return err
		}
		snap.Unread = r.unreadCounts()
		return nil
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	return snap, nil
}

// readList runs one of the reads of lists.
func readList[T any](ctx context.Context, s *Store, what string, read func(reader) ([]T, error)) ([]T, error) {
	var list []T
	err := s.view(ctx, func(r reader) error {
		var err error
		list, err = read(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return list, nil
}

// allTasks reads all tasks. Blocks come from one pass over the dependencies rather than
// from one search a task.
func (r reader) allTasks() ([]Task, error) {
	blocks := map[uint64][]string{}
	each(r.bucket(bucketDeps), nil, func(k, _ []byte) bool {
		blocker := lastNum(k[:8])
		blocks[blocker] = append(blocks[blocker], formatID(lastNum(k)))
		return true
	})
	pass := r.decoded.pass()
	list := make([]Task, 0, len(pass.old))
	var failed error
	each(r.bucket(bucketTasks), nil, func(k, v []byte) bool {
		if failed = r.stopped(len(list)); failed != nil {
			return false
		}
		var rec *taskRecord
		if rec, failed = pass.record(lastNum(k), v); failed != nil {
			return false
		}
		var t Task
		if t, failed = rec.open(r.files); failed != nil {
			return false
		}
		if b := blocks[lastNum(k)]; b != nil {
			t.Blocks = b
		}
		list = append(list, t)
		return true
	})
	if failed == nil {
		pass.end()
	}
	return list, failed
}

// proposed reads the proposed tasks, which are few.
func (r reader) proposed() ([]Task, error) {
	list := []Task{}
	var failed error
	each(r.bucket(bucketProposed), nil, func(k, v []byte) bool {
		if failed = r.stopped(len(list)); failed != nil {
			return false
		}
		var rec *taskRecord
		if rec, failed = decodeTask(fmt.Sprintf("task %d", lastNum(k)), v); failed != nil {
			return false
		}
		var t Task
		if t, failed = r.task(rec); failed == nil {
			list = append(list, t)
		}
		return failed == nil
	})
	return list, failed
}
