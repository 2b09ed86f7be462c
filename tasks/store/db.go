package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Log stores the commits. It is called by one goroutine, after each commit and before
// any caller is answered.
type Log interface {
	// Append writes the record of a commit. It must not keep the slice.
	Append(record []byte)
}

// Options configure Open.
type Options struct {
	// Buckets are the caller's buckets. The keys of those in Rising only rise.
	Buckets, Rising []string
	// Followed are the buckets whose changes DB.Changed reports. Their keys begin with the
	// number of the record.
	Followed []string
	// Describe names an entry for people. If it returns "", bucket and key are shown.
	Describe func(bucket string, key []byte) string
	// Now returns the time for records.
	Now func() time.Time
	// ReadOnly opens the file for reading together with other readers.
	ReadOnly bool
	// LockTimeout is how long Open waits for another process to close the file.
	LockTimeout time.Duration
	// Identity describes to which team the store belongs; the zero value matches all
	// stores.
	Identity Identity
	// Blobs is the folder for long payloads.
	Blobs *Blobs
	// Log stores the commits.
	Log Log
	// Replica is the truth that the file is a copy of. Then the file is not synced: after a
	// crash it has to be made again. nil: the file is the truth.
	Replica Replica
	// Commit commits a transaction; tests replace it. Default: the transaction's own
	// Commit.
	Commit func(*bolt.Tx) error
}

// DB is an open file of records. Its methods may be called from any number of
// goroutines. It must be closed.
type DB struct {
	bolt  *bolt.DB
	opts  Options
	guard *guard        // of the file
	wake  chan struct{} // see Wake

	changes changes
	broken  error   // why no more changes are accepted; used by the committer only
	digest  uint64  // after the last commit; used by the committer only
	record  *Commit // used by the committer only

	in      chan *Job
	gate    sync.RWMutex  // held for reading while sending on in
	stopped bool          // guarded by gate
	idle    chan struct{} // closed when the committer has ended
	ending  chan struct{}
	watched chan struct{} // closed when the watch has ended
}

// Open opens the file at path. It creates the file if there is none, readable and
// writable for the owner only.
//
// Open fails with ErrLocked if another process has the file open, with ErrFormat if
// the file is not a store of this version or an older one, with ErrForeign if it
// belongs to another team, with ErrCorrupt if it is damaged, and with the system's
// error if it cannot be opened. A file in an older format is copied to path.vN.bak
// before it is migrated; with ReadOnly, it is refused with ErrFormat.
func Open(path string, o Options) (*DB, error) {
	if o.Commit == nil {
		o.Commit = (*bolt.Tx).Commit
	}
	db := &DB{
		opts:    o,
		guard:   newGuard(path),
		wake:    make(chan struct{}, 1),
		record:  &Commit{},
		in:      make(chan *Job, maxBatch),
		idle:    make(chan struct{}),
		ending:  make(chan struct{}),
		watched: make(chan struct{}),
	}
	var err error
	if db.bolt, err = openFile(path, o, db.guard); err != nil {
		return nil, err
	}
	if err := db.prepare(); err != nil {
		return nil, errors.Join(err, db.bolt.Close())
	}
	if o.ReadOnly {
		close(db.idle)
		close(db.watched)
		return db, nil
	}
	go db.commitLoop() // Stop waits for it
	go db.watch()      // Close waits for it
	return db, nil
}

// prepare checks the format of an opened file, removes leftovers, and sets the first
// wake.
func (db *DB) prepare() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = db.recovered("reading it", r)
		}
	}()
	if err := establish(db.bolt, db.opts.Blobs, db.layout(Format), migrations()); err != nil {
		return err
	}
	if db.guard.owner, err = identify(db.bolt, db.opts.Identity, db.opts.Replica != nil); err != nil {
		return err
	}
	return db.bolt.View(func(tx *bolt.Tx) error {
		db.guard.last.Store(uint64(tx.ID()))
		db.changes.forgot = uint64(tx.ID())
		db.guard.page = db.bolt.Info().PageSize
		db.digest = LastNum(tx.Bucket([]byte(bucketMeta)).Get([]byte(keyDigest)))
		if k, _ := tx.Bucket([]byte(OutboxBucket)).Cursor().First(); k != nil {
			db.signal()
		}
		if db.opts.ReadOnly {
			return nil
		}
		refs := bucketOf(tx, bucketRefs)
		return db.opts.Blobs.sweep(func(name string) bool { return refs.Any(NameKey(name)) })
	})
}

// layout returns what a file of the given format holds.
func (db *DB) layout(format int) layout {
	return layout{format: format, buckets: append([]string{bucketMeta, bucketRefs, OutboxBucket}, db.opts.Buckets...)}
}

// Stop finishes the changes that were submitted. Later ones fail with ErrClosed;
// reads work until Close. A second Stop does nothing.
func (db *DB) Stop() {
	db.gate.Lock()
	stopped := db.stopped
	db.stopped = true
	db.gate.Unlock()
	if stopped {
		return
	}
	close(db.in)
	// If the file was replaced, the committer may wait for ever for a reader that
	// bbolt has lost count of, so the wait is limited.
	select {
	case <-db.idle:
	case <-db.guard.gone:
		select {
		case <-db.idle:
		case <-time.After(time.Second):
		}
	}
}

// Close stops the DB, waits for readers, and closes the file. It must be called once.
func (db *DB) Close() error {
	db.Stop()
	close(db.ending)
	<-db.watched
	if db.Cause() != nil {
		// bbolt may hold a lock for ever. Closing the file releases the system's
		// lock.
		return errors.Join(unlockFile(db.guard.file), db.guard.file.Close())
	}
	return db.bolt.Close()
}

// Wake returns a channel that holds a token whenever events may have been added since
// the outbox was last emptied, from the moment of Open. All callers share the
// channel, and it is never closed.
func (db *DB) Wake() <-chan struct{} { return db.wake }

// Version returns a number that changes with every commit.
func (db *DB) Version() uint64 { return db.guard.last.Load() }

// signal puts a token into the channel of Wake unless there is one already.
func (db *DB) signal() {
	select {
	case db.wake <- struct{}{}:
	default:
	}
}

// View runs fn in a read transaction. If a payload that fn needs is removed while it
// reads, View runs fn again from the start.
func (db *DB) View(ctx context.Context, fn func(Reader) error) error {
	const attempts = 8
	var err error
	for range attempts {
		if err = ctx.Err(); err != nil {
			return err
		}
		err = db.Read(func(tx *bolt.Tx) error { return fn(Reader{tx: tx, blobs: db.opts.Blobs, stop: ctx.Err}) })
		if !errors.Is(err, ErrBlobGone) {
			return err
		}
	}
	return err
}

// View returns what fn reads in a read transaction, as DB.View does. what is the
// context of errors; empty: fn's errors are returned as they are.
func View[T any](ctx context.Context, db *DB, what string, fn func(Reader) (T, error)) (T, error) {
	var value T
	err := db.View(ctx, func(r Reader) (err error) {
		value, err = fn(r)
		return err
	})
	if err != nil && what != "" {
		err = fmt.Errorf("%s: %w", what, err)
	}
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}
