package tasks

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

// job is one change on its way through the committer.
type job struct {
	op      string
	actor   Actor
	run     func(*txn) error // may run more than once; only the last run counts
	written []string         // payload files made for it
	unused  bool             // it was answered from a receipt, so nothing refers to written
	err     error            // valid once done is closed
	done    chan struct{}
}

// submit hands c to the committer and waits for the commit that holds it.
//
// When ctx ends while c waits, submit returns ctx's error although c may still
// be committed: whoever must know asks for its receipt.
func (s *Store) submit(ctx context.Context, c *job) error {
	if s.opts.ReadOnly {
		return ErrReadOnly
	}
	c.done = make(chan struct{})
	if err := s.enqueue(ctx, c); err != nil {
		return errors.Join(err, s.forget(c))
	}
	select {
	case <-c.done:
		return c.err
	case <-s.guard.gone: // the committer may be stuck in bbolt
		return fmt.Errorf("%s: whether it was committed is unknown: %w", c.op, s.guard.err())
	case <-ctx.Done():
		return fmt.Errorf("%s: no longer waiting for the commit, which may still happen: %w", c.op, ctx.Err())
	}
}

// enqueue puts c in line. It holds the gate meanwhile, so that Close cannot
// close the channel under it; the committer goes on emptying the channel.
func (s *Store) enqueue(ctx context.Context, c *job) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.in <- c:
		return nil
	case <-s.guard.gone:
		return s.guard.err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitLoop is the committer: it alone writes to the file.
func (s *Store) commitLoop() {
	defer close(s.stopped)
	var batch []*job
	for c := range s.in {
		// Those whom the last commit answered are about to come back: let them.
		runtime.Gosched()
		batch = s.drain(append(batch[:0], c))
		s.commit(batch)
		for _, c := range batch {
			close(c.done)
		}
		clear(batch)
	}
}

// drain adds what waits in the channel now.
func (s *Store) drain(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case c, ok := <-s.in:
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
func (s *Store) commit(batch []*job) {
	if s.attempt(batch) != nil {
		for i := range batch {
			s.alone(batch[i : i+1])
		}
	}
	if s.broken != nil {
		return // it may have happened: what is of use is for the next Open to find out
	}
	for _, c := range batch {
		if c.err != nil || c.unused {
			// A file that cannot be removed now is removed by the next Open.
			_ = s.forget(c)
		}
	}
}

// alone tries one change of a batch that failed. The change keeps its own error
// if it has one: that is why it failed, and not the disk.
func (s *Store) alone(one []*job) {
	if s.broken != nil {
		one[0].err = s.broken
		return
	}
	one[0].err = nil
	if err := s.attempt(one); err != nil && one[0].err == nil {
		one[0].err = err
	}
}

// errNothing rolls back a transaction in which no change was made.
var errNothing = errors.New("nothing to commit")

// attempt runs one transaction with all changes of the batch. It fails when
// nothing of it is stored, and a refused change is no failure.
func (s *Store) attempt(batch []*job) error {
	if s.broken != nil {
		return s.broken
	}
	var t *txn
	err := s.updateSafely(func(tx *bolt.Tx) error {
		t = s.begin(tx)
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
		s.committed(t)
		s.broken = s.guard.inspect(true) // a commit to a file that is not there any more is none
		return s.broken
	case s.guard.err() != nil:
		s.broken = s.guard.err()
		return s.broken
	case t != nil && t.spoiled, errors.Is(err, ErrCorrupt):
		return err // a change failed half way, or on a damaged page: not the disk's error
	case t != nil && s.landed(t.id):
		s.broken = fmt.Errorf("%w: the outcome of a commit is unknown (%w); open the store again", ErrDisk, err)
		return s.broken
	}
	return s.blobs.diskError(err)
}

// updateSafely is update with bbolt's panics as errors.
func (s *Store) updateSafely(fn func(*bolt.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.guard.judge(recovered("writing it", r))
		}
	}()
	return s.update(fn)
}

// landed says whether a transaction whose commit failed can be seen all the
// same: its last page was written, but not confirmed. Then nobody knows what a
// restart will find, and it must not be tried again.
func (s *Store) landed(id int) bool {
	seen := true
	err := s.read(func(tx *bolt.Tx) error {
		seen = tx.ID() >= id
		return nil
	})
	return err != nil || seen
}

// committed does what may only happen after a commit.
func (s *Store) committed(t *txn) {
	s.digest = t.digest
	s.guard.last.Store(uint64(t.id))
	if t.record != nil {
		s.backups.log.append(t.record.end(t.digest))
	}
	for _, name := range t.dropped {
		_ = s.blobs.remove(name) // the next Open removes what stays
	}
	if t.wrote {
		s.ring()
	}
}

// forget removes the payload files of a change that did not happen.
func (s *Store) forget(c *job) error {
	var errs []error
	for _, name := range c.written {
		errs = append(errs, s.blobs.remove(name))
	}
	c.written = nil
	return errors.Join(errs...)
}
