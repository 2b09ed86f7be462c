package kv

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	bolt "go.etcd.io/bbolt"
)

// The committer is a line with one counter. Whoever wants a change hands in a
// job and waits; the committer takes all jobs that are in line, runs them one
// after another in one transaction, commits, and answers them all. There is no
// delay to gather more: while one commit is on its way to the disk the next
// batch gathers by itself, so that the batches grow with the load.

// maxBatch is how many changes go into one commit at most, and how many may
// wait in the channel. It bounds what one transaction holds in memory (each
// change adds a few records of at most 64 KiB per long field) and how long the
// first caller waits for the last.
const maxBatch = 1024

// Job is one change on its way through the committer.
type Job struct {
	Op      string // what it does, for errors and receipts
	db      *DB
	run     func(*Tx) error // may run more than once; only the last run counts
	written []string        // payload files made for it
	unused  bool            // nothing refers to written
	err     error           // valid once done is closed
	done    chan struct{}
}

// Job begins a change. What comes before Submit runs in the caller's
// goroutine: checking the arguments and writing long payloads to files, so
// that the committer never waits for a big write.
func (db *DB) Job(op string) *Job { return &Job{Op: op, db: db} }

// Unused says, within the change, whether nothing refers to what was packed for
// it: it turned out to be done already.
func (c *Job) Unused(unused bool) { c.unused = unused }

// Abandon gives up a change that was never submitted, because of err.
func (c *Job) Abandon(err error) error { return errors.Join(err, c.forget()) }

// Submit hands a change to the committer and waits for the commit that holds it.
// run may run more than once; only the last run counts.
//
// A ctx that is cancelled counts only before the change is in line. From then on Submit waits
// for the commit, so that its caller knows what has happened and can do what follows from it:
// a change of which nobody takes notice would be as bad as one that is lost. A deadline
// counts all the while, for a disk may hang; the change may still be committed after it, and
// whoever must know asks for its receipt.
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

// enqueue puts c in line. It holds the gate meanwhile, so that Close cannot
// close the channel under it; the committer goes on emptying the channel.
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

// commitLoop is the committer: it alone writes to the file.
func (db *DB) commitLoop() {
	defer close(db.idle)
	var batch []*Job
	for c := range db.in {
		// Those whom the last commit answered are about to come back: let them.
		runtime.Gosched()
		batch = db.drain(append(batch[:0], c))
		db.commit(batch)
		for _, c := range batch {
			close(c.done)
		}
		clear(batch)
	}
}

// drain adds what waits in the channel now.
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

// commit puts a batch into one transaction. If that fails, each change is
// tried alone, so that one that cannot be stored does not take others with it.
func (db *DB) commit(batch []*Job) {
	if db.attempt(batch) != nil {
		for i := range batch {
			db.alone(batch[i : i+1])
		}
	}
	if db.broken != nil {
		return // it may have happened: what is of use is for the next Open to find out
	}
	for _, c := range batch {
		if c.err != nil || c.unused {
			// A file that cannot be removed now is removed by the next Open.
			_ = c.forget()
		}
	}
}

// alone tries one change of a batch that failed. The change keeps its own error
// if it has one: that is why it failed, and not the disk.
func (db *DB) alone(one []*Job) {
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

// attempt runs one transaction with all changes of the batch. It fails when
// nothing of it is stored, and a refused change is no failure.
func (db *DB) attempt(batch []*Job) error {
	if db.broken != nil {
		return db.broken
	}
	var t *Tx
	err := db.writeSafely(func(tx *bolt.Tx) error {
		t = db.begin(tx)
		for _, c := range batch {
			if err := t.apply(c); err != nil {
				return err
			}
		}
		return t.finish()
	})
	switch {
	case errors.Is(err, errNothing):
		return nil
	case err == nil:
		db.committed(t)
		db.broken = db.guard.inspect(true) // a commit to a file that is not there any more is none
		return db.broken
	case db.guard.err() != nil:
		db.broken = db.guard.err()
		return db.broken
	case t != nil && t.spoiled, errors.Is(err, ErrCorrupt):
		return err // a change failed half way, or on a damaged page: not the disk's error
	case t != nil && db.landed(t.id):
		db.broken = fmt.Errorf("%w: the outcome of a commit is unknown (%w); open the store again", ErrDisk, err)
		return db.broken
	}
	return db.opts.Blobs.diskError(err)
}

// writeSafely is write with bbolt's panics as errors.
func (db *DB) writeSafely(fn func(*bolt.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = db.guard.judge(db.recovered("writing it", r))
		}
	}()
	return db.write(fn)
}

// landed says whether a transaction whose commit failed can be seen all the
// same: its last page was written, but not confirmed. Then nobody knows what a
// restart will find, and it must not be tried again.
func (db *DB) landed(id int) bool {
	seen := true
	err := db.Read(func(tx *bolt.Tx) error {
		seen = tx.ID() >= id
		return nil
	})
	return err != nil || seen
}

// committed does what may only happen after a commit.
func (db *DB) committed(t *Tx) {
	db.digest = t.digest
	db.guard.last.Store(uint64(t.id))
	db.opts.Log.Append(db.record.end(t.digest))
	for _, name := range t.dropped {
		_ = db.opts.Blobs.remove(name) // the next Open removes what stays
	}
	if t.wrote {
		db.ring()
	}
}

// forget removes the payload files of a change that did not happen.
func (c *Job) forget() error {
	var errs []error
	for _, name := range c.written {
		errs = append(errs, c.db.opts.Blobs.remove(name))
	}
	c.written = nil
	return errors.Join(errs...)
}
