package store

import (
	"errors"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Read runs fn in a read transaction. It returns panics of bbolt, and faults in its
// mapping of the file, as errors.
func (db *DB) Read(fn func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := db.guard.begin(db.bolt, false)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	if err != nil {
		return err
	}
	defer db.guard.endRead(tx)
	defer func() {
		if r := recover(); r != nil {
			err = db.guard.afterPanic(db.recovered("reading it", r))
		}
	}()
	if err := db.guard.owns(tx); err != nil {
		return err
	}
	return fn(tx)
}

// write runs fn in a write transaction and commits it. It does not use db.Update,
// which after a panic reads the whole file in a goroutine whose panics end the
// process.
func (db *DB) write(fn func(*bolt.Tx) error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := db.guard.begin(db.bolt, true)
	if err != nil {
		return err
	}
	defer db.guard.end(tx) // a no-op after a commit
	if err := db.guard.owns(tx); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	return db.opts.Commit(tx)
}
