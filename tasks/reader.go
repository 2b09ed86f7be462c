package tasks

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// reader reads the buckets within one transaction.
type reader struct {
	tx      *bolt.Tx
	files   *blobs
	decoded *decodedTasks // of view alone
	stop    func() error  // asked now and then on a long way; nil: never stop
}

func (r reader) bucket(name string) bucket { return bucketOf(r.tx, name) }

// stopped asks stop on every 1024th step.
func (r reader) stopped(step int) error {
	const often = 1024
	if r.stop == nil || step%often != 0 {
		return nil
	}
	return r.stop()
}

// load reads a task. It fails with ErrNotFound when there is none, and says
// so in the words of the caller's id.
func (r reader) load(id string) (*taskRecord, error) {
	return r.loadFrom(bucketTasks, id)
}

// loadFrom reads a task from either of the two buckets that hold tasks.
func (r reader) loadFrom(bucket, id string) (*taskRecord, error) {
	n, ok := parseID(id)
	if !ok {
		return nil, fmt.Errorf("task %q %w: ids are numbers from 1", clip(id), ErrNotFound)
	}
	data := r.bucket(bucket).Get(numKey(n))
	if data == nil {
		return nil, fmt.Errorf("task %s %w", id, ErrNotFound)
	}
	return decodeTask("task "+id, data)
}

// number gives the key number of a stored task.
func (r *taskRecord) number() uint64 {
	n, _ := parseID(r.ID)
	return n
}

// place is where the task stands once it is confirmed.
func (r *taskRecord) place() place { return place{bucketTasks, numKey(r.number())} }

// proposedPlace is where it stands before that.
func (r *taskRecord) proposedPlace() place { return place{bucketProposed, numKey(r.number())} }

// exists says whether there is a task with that id.
func (r reader) exists(id string) bool {
	n, ok := parseID(id)
	return ok && r.bucket(bucketTasks).Get(numKey(n)) != nil
}

// dependents gives the ids of the tasks that wait for a task, or waited.
func (r reader) dependents(id string) []string {
	n, _ := parseID(id)
	return formatIDs(suffixes(r.bucket(bucketDeps), numKey(n), 0))
}

// waiting gives the ids of a task's blockers that are not completed.
func (r reader) waiting(id string) []string {
	n, _ := parseID(id)
	return formatIDs(suffixes(r.bucket(bucketWaits), numKey(n), 0))
}

// withBlocks gives a copy of a stored task with its Blocks filled in.
func (r reader) withBlocks(rec *taskRecord) *taskRecord {
	c := *rec
	c.Blocks = r.dependents(rec.ID)
	return &c
}

// task gives a stored task as callers see it.
func (r reader) task(rec *taskRecord) (Task, error) {
	return r.withBlocks(rec).open(r.files)
}

// tasks reads the tasks with these numbers.
func (r reader) tasks(numbers []uint64) ([]Task, error) {
	list := make([]Task, 0, len(numbers))
	for i, n := range numbers {
		if err := r.stopped(i); err != nil {
			return nil, err
		}
		rec, err := r.load(formatID(n))
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

// clip shortens what a caller gave, for an error message.
func clip(s string) string { return oneLine(clean(s), 80) }
