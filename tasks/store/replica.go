package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Replica keeps a store on other machines. What it holds is the truth, and the file a copy
// of it.
type Replica interface {
	// Commit stores the record of a commit. It is called by one goroutine, before the
	// commit of the file, and must not keep the slice. After an error that wraps
	// ErrRefused, the record is not stored and never will be. After any other error that is
	// unknown, and the store accepts nothing more.
	Commit(record []byte) error
	// Snapshot stores a verified copy of the file, which has that state.
	Snapshot(path string, at State) error
	// PutText stores a long payload, before the commit that refers to it. Text returns it,
	// and DropText removes it after nothing refers to it any more.
	PutText(name, text string) error
	Text(name string) (string, error)
	DropText(name string)
	// SweepTexts removes the payloads for which used returns false. It may fail in part.
	SweepTexts(used func(name string) bool)
}

var (
	// ErrRefused: a Replica did not take a commit, which has not happened.
	ErrRefused = errors.New("the change was refused on the other machines")
	// ErrReplica: the outcome of a commit on other machines is unknown, or only they have
	// it. The store accepts no changes until it is opened again.
	ErrReplica = errors.New("the store lost touch with its replica")
)

// replicate gives the record of a transaction to the replica, if there is one.
func (db *DB) replicate(t *Tx) (sent bool, err error) {
	if db.opts.Replica == nil {
		return false, nil
	}
	err = db.opts.Replica.Commit(db.record.end(t.digest))
	if err != nil && !errors.Is(err, ErrRefused) {
		err = db.guard.lose(fmt.Errorf("%w: %w", ErrReplica, err))
	}
	return err == nil, err
}

// behind ends the use of a file that lacks what the replica has stored.
func (db *DB) behind(err error) error {
	return db.guard.lose(fmt.Errorf("%w: a commit is stored on other machines, but not here: %w", ErrReplica, err))
}

// CommitOf returns the commit that a record describes. It keeps the slice.
func CommitOf(record []byte) (*Commit, error) {
	c := &Commit{buf: record}
	if len(record) < recordHead || !c.sound() {
		return nil, errRecord
	}
	return c, nil
}

// Fold repeats commits on a file that no process has open. step applies the next of them.
// Only the last one is synced.
func Fold(path string, at State, run func(step func(*Commit) error) error) (State, error) {
	db, err := OpenBolt(path, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return at, fmt.Errorf("open the copy: %w", err)
	}
	err = run(func(c *Commit) error {
		err := db.Update(func(tx *bolt.Tx) (err error) {
			at.Sum, err = c.Apply(tx, at.Sum)
			return err
		})
		if err == nil {
			at.Transaction = c.Number()
		}
		return err
	})
	return at, errors.Join(err, db.Sync(), db.Close())
}
