package kv

import (
	"errors"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Read runs fn in a read transaction. What bbolt panics about, and a fault in its
// mapping of the file, is an error.
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
			err = db.guard.judge(db.recovered("reading it", r))
		}
	}()
	if err := db.guard.owns(tx); err != nil {
		return err
	}
	return fn(tx)
}

// write runs fn in a write transaction and commits it. It is not db.Update: that reads
// the whole file after a panic, in a goroutine whose panics end the process.
func (db *DB) write(fn func(*bolt.Tx) error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := db.guard.begin(db.bolt, true)
	if err != nil {
		return err
	}
	defer db.guard.end(tx) // nothing, after a commit
	if err := db.guard.owns(tx); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	return db.opts.Commit(tx)
}
