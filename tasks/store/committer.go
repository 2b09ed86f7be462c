package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	bolt "go.etcd.io/bbolt"
)

// The committer serializes the changes. A caller submits a job and waits; the
// committer takes all waiting jobs, runs them one after another in one transaction,
// commits, and answers them all. It does not delay a commit to gather more jobs:
// while one commit is written to disk the next batch accumulates, so batches grow
// with the load.

// maxBatch is the maximum number of changes in one commit, and of changes that wait
// in the channel. It bounds the memory of one transaction (each change adds a few
// records of at most 64 KiB per long field) and how long the first caller waits for
// the last.
const maxBatch = 1024

// Job is one change to be made by the committer.
type Job struct {
	Op      string // the operation, for errors and receipts
	db      *DB
	run     func(*Tx) error // may run more than once; only the last run counts
	written []string        // payload files written for it
	unused  bool            // nothing refers to written
	err     error           // valid once done is closed
	done    chan struct{}
}

// Job begins a change. Everything before Submit runs in the caller's goroutine:
// checking the arguments and writing long payloads to files, so that the committer
// never waits for a big write.
func (db *DB) Job(op string) *Job { return &Job{Op: op, db: db} }

// Unused says, from within the change, whether nothing refers to the packed payloads
// because the change had already been made.
func (c *Job) Unused(unused bool) { c.unused = unused }

// Abandon gives up a change that was never submitted. It returns err.
func (c *Job) Abandon(err error) error { return errors.Join(err, c.removeFiles()) }

// Submit hands a change to the committer and waits for its commit. run may run more
// than once; only the last run counts.
//
// Cancelling ctx has an effect only before the change is queued. After that Submit
// waits for the commit, so that its caller knows what happened and can act on it: a
// change that nobody notices would be as bad as a lost one. A deadline has an effect
// at any time, because a disk may hang; the change may still be committed after it,
// and its receipt says whether it was.
func (c *Job) Submit(ctx context.Context, run func(*Tx) error) error {
	db := c.db
	if db.opts.ReadOnly {
		return ErrReadOnly
	}
	c.run, c.done = run, make(chan struct{})
	if err := db.enqueue(ctx, c); err != nil {
		return c.Abandon(err)
	}
	for over := ctx.Done(); ; {
		select {
		case <-c.done:
			return c.err
		case <-db.guard.gone: // the committer may be stuck in bbolt
			return fmt.Errorf("%s: whether it was committed is unknown: %w", c.Op, db.guard.err())
		case <-over:
			if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("%s: no longer waiting for the commit, which may still happen: %w", c.Op, err)
			}
			over = nil
		}
	}
}

// enqueue queues c. It holds the gate so that Stop cannot close the channel at the
// same time; the committer goes on emptying the channel.
func (db *DB) enqueue(ctx context.Context, c *Job) error {
	db.gate.RLock()
	defer db.gate.RUnlock()
	if db.stopped {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case db.in <- c:
		return nil
	case <-db.guard.gone:
		return db.guard.err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitLoop runs the committer, the only writer of the file.
func (db *DB) commitLoop() {
	defer close(db.idle)
	var batch []*Job
	for c := range db.in {
		// Let the callers that the last commit has answered submit their next
		// changes.
		runtime.Gosched()
		batch = db.drain(append(batch[:0], c))
		db.commit(batch)
		for _, c := range batch {
			close(c.done)
		}
		clear(batch)
	}
}

// drain adds the jobs that wait in the channel.
func (db *DB) drain(batch []*Job) []*Job {
	for len(batch) < maxBatch {
		select {
		case c, ok := <-db.in:
			if !ok {
				return batch
			}
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// commit puts a batch into one transaction. If that fails, each change is tried
// alone, so that one that cannot be stored does not fail the others.
func (db *DB) commit(batch []*Job) {
	if db.attempt(batch) != nil {
		for i := range batch {
			db.retryAlone(batch[i : i+1])
		}
	}
	if db.broken != nil {
		return // the changes may have happened: the next Open removes unused files
	}
	for _, c := range batch {
		if c.err != nil || c.unused {
			// A file that cannot be removed now is removed by the next Open.
			_ = c.removeFiles()
		}
	}
}

// retryAlone tries one change of a batch that failed. If the change has an error of
// its own, it keeps that one.
func (db *DB) retryAlone(one []*Job) {
	if db.broken != nil {
		one[0].err = db.broken
		return
	}
	one[0].err = nil
	if err := db.attempt(one); err != nil && one[0].err == nil {
		one[0].err = err
	}
}

// errNothing rolls back a transaction in which no change was made.
var errNothing = errors.New("nothing to commit")

// attempt runs one transaction with all changes of the batch. It returns an error if
// nothing is stored. A refused change is not an error of the batch.
func (db *DB) attempt(batch []*Job) error {
	if db.broken != nil {
		return db.broken
	}
	var t *Tx
	sent := false
	err := db.writeSafely(func(tx *bolt.Tx) (err error) {
		t = db.begin(tx)
		for _, c := range batch {
			if err := t.apply(c); err != nil {
				return err
			}
		}
		if err := t.finish(); err != nil {
			return err
		}
		sent, err = db.replicate(t)
		return err
	})
	switch {
	case errors.Is(err, errNothing):
		return nil
	case err == nil:
		db.committed(t)
		db.broken = db.guard.inspect(true) // a commit to a file that was removed does not count
		return db.broken
	case db.guard.err() != nil:
		db.broken = db.guard.err()
		return db.broken
	case sent:
		db.broken = db.behind(err)
		return db.broken
	case t != nil && t.spoiled, errors.Is(err, ErrCorrupt):
		return err // a change failed after a write, or on a damaged page: not the disk's error
	case t != nil && db.mayBeStored(t.id):
		db.broken = fmt.Errorf("%w: the outcome of a commit is unknown (%w); open the store again", ErrDisk, err)
		return db.broken
	}
	return db.opts.Blobs.diskError(err)
}

// writeSafely is write with bbolt's panics returned as errors.
func (db *DB) writeSafely(fn func(*bolt.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = db.guard.afterPanic(db.recovered("writing it", r))
		}
	}()
	return db.write(fn)
}

// mayBeStored reports whether a transaction whose commit failed is visible all the
// same: its last page was written, but not confirmed. Then it is unknown what a
// restart will find, and the transaction must not be tried again.
func (db *DB) mayBeStored(id int) bool {
	seen := true
	err := db.Read(func(tx *bolt.Tx) error {
		seen = tx.ID() >= id
		return nil
	})
	return err != nil || seen
}

// committed does what may happen only after a commit.
func (db *DB) committed(t *Tx) {
	db.digest = t.digest
	db.guard.last.Store(uint64(t.id))
	db.opts.Log.Append(db.record.end(t.digest))
	for _, name := range t.dropped {
		_ = db.opts.Blobs.remove(name) // the next Open removes files that remain
	}
	if t.wrote {
		db.signal()
	}
}

// removeFiles removes the payload files of a change that did not happen.
func (c *Job) removeFiles() error {
	var errs []error
	for _, name := range c.written {
		errs = append(errs, c.db.opts.Blobs.remove(name))
	}
	c.written = nil
	return errors.Join(errs...)
}
