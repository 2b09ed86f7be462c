package tasks

import (
	"fmt"

	"github.com/coveyteam/covey/tasks/store"
)

// reader reads tasks within one transaction.
type reader struct{ store.Reader }

// load reads a task. It fails with ErrNotFound if there is none; the error quotes the
// caller's id.
func (r reader) load(id string) (*taskRecord, error) {
	return r.loadFrom(bucketTasks, id)
}

// loadFrom reads a task from either of the two buckets that hold tasks.
func (r reader) loadFrom(bucket, id string) (*taskRecord, error) {
	n, ok := store.ParseID(id)
	if !ok {
		return nil, fmt.Errorf("task %q %w: ids are numbers from 1", store.Clip(id), ErrNotFound)
	}
	data := r.Bucket(bucket).Get(store.NumKey(n))
	if data == nil {
		return nil, fmt.Errorf("task %s %w", id, ErrNotFound)
	}
	return decodeTask("task "+id, data)
}

// number returns the key number of a stored task.
func (r *taskRecord) number() uint64 {
	n, _ := store.ParseID(r.ID)
	return n
}

// place returns where a confirmed task is stored.
func (r *taskRecord) place() store.Place {
	return store.Place{Bucket: bucketTasks, Key: store.NumKey(r.number())}
}

// proposedPlace returns where a proposed task is stored.
func (r *taskRecord) proposedPlace() store.Place {
	return store.Place{Bucket: bucketProposed, Key: store.NumKey(r.number())}
}

// exists reports whether there is a task with that id.
func (r reader) exists(id string) bool {
	n, ok := store.ParseID(id)
	return ok && r.Bucket(bucketTasks).Get(store.NumKey(n)) != nil
}

// dependents returns the ids of the tasks that have the task as a blocker, open or
// completed.
func (r reader) dependents(id string) []string {
	n, _ := store.ParseID(id)
	return store.FormatIDs(r.Bucket(bucketDeps).Numbers(store.NumKey(n), 0))
}

// waiting returns the ids of a task's blockers that are not completed.
func (r reader) waiting(id string) []string {
	n, _ := store.ParseID(id)
	return store.FormatIDs(r.Bucket(bucketWaits).Numbers(store.NumKey(n), 0))
}

// withBlocks returns a copy of a stored task with its Blocks filled in.
func (r reader) withBlocks(rec *taskRecord) *taskRecord {
	c := *rec
	c.Blocks = r.dependents(rec.ID)
	return &c
}

// task returns a stored task as callers see it.
func (r reader) task(rec *taskRecord) (Task, error) {
	return r.withBlocks(rec).Open(r.Blobs())
}

// tasks reads the tasks with these numbers.
func (r reader) tasks(numbers []uint64) ([]Task, error) {
	list := make([]Task, 0, len(numbers))
	for i, n := range numbers {
		if err := r.Stopped(i); err != nil {
			return nil, err
		}
		rec, err := r.load(store.FormatID(n))
		if err != nil {
			return nil, fmt.Errorf("%w: an index names a task that cannot be read: %v", ErrCorrupt, err)
		}
		t, err := r.task(rec)
		if err != nil {
			return nil, fmt.Errorf("from an index: %w", err)
		}
		list = append(list, t)
	}
	return list, nil
}
