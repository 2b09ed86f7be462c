package kv

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Log takes down what is committed. It is called by one goroutine, after each
// commit and before anybody is told of it.
type Log interface {
	// Append is given the record of a commit, which it must not keep.
	Append(record []byte)
}

// Options are what Open is told.
type Options struct {
	// Buckets are the caller's buckets. Those in Rising have keys that only rise.
	Buckets, Rising []string
	// Describe names an entry for people; empty: its bucket and key do.
	Describe func(bucket string, key []byte) string
	// Now gives the time that records bear.
	Now func() time.Time
	// ReadOnly opens the file for reading beside other readers.
	ReadOnly bool
	// LockTimeout is how long Open waits for another process to close the file.
	LockTimeout time.Duration
	// Identity says whose store it is; the zero value fits all stores.
	Identity Identity
	// Blobs is the folder for long payloads.
	Blobs *Blobs
	// Log takes down the commits.
	Log Log
	// Commit commits a transaction; tests put failures in its place. Default:
	// the transaction's own Commit.
	Commit func(*bolt.Tx) error
}

// DB is an open file of records. Its methods may be called from any number of
// goroutines; it must be closed.
type DB struct {
	bolt  *bolt.DB
	opts  Options
	guard *guard        // of the file
	wake  chan struct{} // see Wake

	broken error   // why no more changes are taken; the committer's own
	digest uint64  // after the last commit; likewise
	record *Commit // likewise

	in      chan *Job
	gate    sync.RWMutex  // held for reading while sending on in
	stopped bool          // guarded by gate
	idle    chan struct{} // closed when the committer has ended
	ending  chan struct{}
	watched chan struct{} // closed when the file is not watched any more
}

// Open opens the file at path and makes it if it is not there (readable and
// writable for the owner only).
//
// It fails with ErrLocked when another process has it open, with ErrFormat when
// the file is not a store of this version or an older one, with ErrForeign when
// it is another team's, with ErrCorrupt when it is damaged, and with the
// system's error when the file cannot be opened. A file in an older format is
// copied to path.vN.bak before it is brought up to date.
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

// prepare makes an opened file ready: format, files left behind, first wake.
func (db *DB) prepare() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = db.recovered("reading it", r)
		}
	}()
	if err := establish(db.bolt, db.layout(formatNow), migrations()); err != nil {
		return err
	}
	if !db.opts.ReadOnly {
		if err := layDigest(db.bolt); err != nil {
			return err
		}
	}
	if db.guard.owner, err = identify(db.bolt, db.opts.Identity); err != nil {
		return err
	}
	return db.bolt.View(func(tx *bolt.Tx) error {
		db.guard.last.Store(uint64(tx.ID()))
		db.guard.page = db.bolt.Info().PageSize
		db.digest = LastNum(tx.Bucket([]byte(bucketMeta)).Get([]byte(keyDigest)))
		if k, _ := tx.Bucket([]byte(OutboxBucket)).Cursor().First(); k != nil {
			db.ring()
		}
		if db.opts.ReadOnly {
			return nil
		}
		refs := bucketOf(tx, bucketRefs)
		return db.opts.Blobs.sweep(func(name string) bool { return refs.Any(NameKey(name)) })
	})
}

// layout is what a file in the given format holds.
func (db *DB) layout(format int) layout {
	return layout{format: format, buckets: append([]string{bucketMeta, bucketRefs, OutboxBucket}, db.opts.Buckets...)}
}

// Stop finishes the changes that were handed in. Later ones fail with ErrClosed;
// reading goes on until Close. A second Stop does nothing.
func (db *DB) Stop() {
	db.gate.Lock()
	stopped := db.stopped
	db.stopped = true
	db.gate.Unlock()
	if stopped {
		return
	}
	close(db.in)
	// When the file was replaced the committer may wait for a reader that bbolt has
	// lost count of, so there is a limit.
	select {
	case <-db.idle:
	case <-db.guard.gone:
		select {
		case <-db.idle:
		case <-time.After(time.Second):
		}
	}
}

// Close stops the DB, waits for readers, and closes the file. It must be called
// once.
func (db *DB) Close() error {
	db.Stop()
	close(db.ending)
	<-db.watched
	if db.Cause() != nil {
		// bbolt may hold a lock for ever. Closing the file gives the system's lock back.
		return errors.Join(unlockFile(db.guard.file), db.guard.file.Close())
	}
	return db.bolt.Close()
}

// Wake gives a channel that holds a token whenever events may have come into
// the outbox since it was last emptied, from the moment of Open. There is one
// channel for all callers, and it is never closed.
func (db *DB) Wake() <-chan struct{} { return db.wake }

// ring puts a token into the channel of Wake unless there is one already.
func (db *DB) ring() {
	select {
	case db.wake <- struct{}{}:
	default:
	}
}

// View runs fn in a read transaction. fn may run more than once, each time
// from the start: when a payload that it needs is removed while it reads.
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

// View gives what fn reads in a read transaction, as DB.View does. what names it
// in errors; empty: the error of fn says enough.
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
