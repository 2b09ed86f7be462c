package tasks

import (
	"errors"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// read runs fn in a read transaction. What bbolt panics about, and a fault in its
// mapping of the file, is an error.
func (s *Store) read(fn func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := s.guard.begin(s.db, false)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	if err != nil {
		return err
	}
	defer s.guard.end(tx)
	defer func() {
		if r := recover(); r != nil {
			err = s.guard.judge(recovered("reading it", r))
		}
	}()
	if err := s.guard.owns(tx); err != nil {
		return err
	}
	return fn(tx)
}

// write runs fn in a write transaction and commits it. It is not db.Update: that reads
// the whole file after a panic, in a goroutine whose panics end the process.
func (s *Store) write(fn func(*bolt.Tx) error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := s.guard.begin(s.db, true)
	if err != nil {
		return err
	}
	defer s.guard.end(tx) // nothing, after a commit
	if err := s.guard.owns(tx); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
