package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Options are what Open may be told. The zero value is ready for use.
type Options struct {
	// Now gives the time that tasks, messages and events bear; time.Now by
	// default. It is for display only: no order and no rule depends on it.
	Now func() time.Time
	// BlobDir is the folder for payloads over 64 KiB: descriptions, message
	// texts and data, metadata values, values of Put. Nothing else may lie in
	// it: Open removes what the store does not know. Default: the store's
	// path + ".blobs". It is made when it is first needed.
	BlobDir string
	// ReadOnly opens the store for reading beside other readers, but not
	// beside a writer. Changes fail with ErrReadOnly.
	ReadOnly bool
	// LockTimeout is how long Open waits for another process to close the
	// store; by default not at all.
	LockTimeout time.Duration
	// MaxUnread bounds the unread messages of one member: Send to a full
	// mailbox fails with ErrFull. Default 1,000. What the store itself sends
	// (task assignments) is never refused.
	MaxUnread int
	// Backups is how many verified backups are kept in the folder path + ".backups"; 0:
	// none. With backups Open looks the whole file through, and puts the newest one in
	// its place if it is damaged (Store.Restored); with ReadOnly it only says so.
	Backups int
	// BackupEvery is how often a backup is made of a store that changes; default 10
	// minutes. One is made after Open and one in Close as well.
	BackupEvery time.Duration
	// Refused is told what the disk said to a change that it did not take; its caller
	// gets the same as ErrDisk. It may be called by several goroutines at once and must
	// not block. nil: nobody is told.
	Refused func(error)

	most int64 // bytes of the biggest store that is looked through; tests set it
}

// Store is one team's state. Its methods may be called from any number of
// goroutines; the Store must be closed.
type Store struct {
	db    *bolt.DB
	opts  Options
	blobs *blobs
	wake  chan struct{}

	// update is db.Update; tests put failures in its place.
	update func(func(*bolt.Tx) error) error
	broken error // why no more changes are taken; the committer's own

	in      chan *job
	gate    sync.RWMutex // held for reading while sending on in
	closed  bool         // guarded by gate
	stopped chan struct{}

	backups  *backups      // nil: none
	record   *commitRecord // the committer's own; nil: commits are not noted
	saving   sync.Mutex    // held while a backup is made
	restored *Restoration  // nil: Open found all well
	held     sync.Map      // names of the members whose session somebody holds
	drafting sync.Mutex    // guards drafted
	drafted  uint64        // the last number of a request that was drafted
	ending   chan struct{}
	safe     chan struct{} // closed when no more backups are made beside the work

	closing sync.Once
	closeAs error
}

// Open opens the store at path and makes it if it is not there (readable and
// writable for the owner only). opts may be nil.
//
// It fails with ErrLocked when another process has it open, with ErrFormat
// when the file is not a store of this version or an older one, with
// ErrCorrupt when it is damaged, and with the system's error when the file
// cannot be opened. A file in an older format is copied to path.vN.bak before
// it is brought up to date.
func Open(path string, opts *Options) (*Store, error) {
	s := &Store{
		in:      make(chan *job, maxBatch),
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
		ending:  make(chan struct{}),
		safe:    make(chan struct{}),
	}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.fill(path)
	s.blobs = &blobs{dir: s.opts.BlobDir, refused: s.opts.Refused}
	if s.opts.Backups > 0 {
		s.backups = newBackups(path, s.opts, s.blobs)
	}
	if err := s.examine(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := openFile(path, s.opts)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.db, s.update = db, db.Update
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	if s.opts.ReadOnly {
		close(s.stopped)
		return s, nil
	}
	if s.backups != nil {
		s.record = &commitRecord{}
		s.backups.tell(s.backups.beginLog()) // a store without a log works all the same
	}
	go s.commitLoop() // Close waits for both
	if s.backups != nil {
		go s.keepSafe()
	} else {
		close(s.safe)
	}
	return s, nil
}

// fill puts the defaults in, in one place.
func (o *Options) fill(path string) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BlobDir == "" {
		o.BlobDir = path + ".blobs"
	}
	if o.BackupEvery <= 0 {
		o.BackupEvery = backupEvery
	}
	if o.most <= 0 {
		o.most = maxVerified
	}
	if o.MaxUnread <= 0 {
		o.MaxUnread = 1_000
	}
}

// prepare makes an opened file ready: format, files left behind, first wake.
func (s *Store) prepare() error {
	if err := establish(s.db, formatNow, migrations()); err != nil {
		return err
	}
	if !s.opts.ReadOnly {
		if err := layDigest(s.db); err != nil {
			return err
		}
	}
	if s.restored != nil {
		if err := s.takeStock(); err != nil {
			return err
		}
	}
	return s.db.View(func(tx *bolt.Tx) error {
		if anyKey(tx.Bucket([]byte(bucketOutbox)), nil) {
			s.ring()
		}
		if s.opts.ReadOnly {
			return nil
		}
		refs := tx.Bucket([]byte(bucketRefs))
		return s.blobs.sweep(func(name string) bool { return anyKey(refs, nameKey(name)) })
	})
}

// Close finishes the changes that were handed in, waits for readers, and
// closes the file. Calls that come later fail with ErrClosed. A second Close
// waits for the first and returns what it returned.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.gate.Lock()
		s.closed = true
		s.gate.Unlock()
		close(s.in)
		if !s.opts.ReadOnly {
			<-s.stopped
			close(s.ending)
			<-s.safe
		}
		s.closeAs = errors.Join(s.Backup(context.Background()), s.endLog(), s.db.Close())
	})
	return s.closeAs
}

// Wake gives a channel that holds a token whenever events may have come into
// the outbox since it was last emptied, from the moment of Open. There is one
// channel for all callers, and it is never closed.
func (s *Store) Wake() <-chan struct{} { return s.wake }

// ring puts a token into the channel of Wake unless there is one already.
func (s *Store) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// view runs fn in a read transaction. fn may run more than once, each time
// from the start: when a payload that it needs is removed while it reads.
func (s *Store) view(ctx context.Context, fn func(reader) error) error {
	const attempts = 8
	var err error
	for range attempts {
		if err = ctx.Err(); err != nil {
			return err
		}
		err = s.viewOnce(ctx, fn)
		if !errors.Is(err, errBlobGone) {
			return err
		}
	}
	return err
}

// viewOnce is one attempt of view.
func (s *Store) viewOnce(ctx context.Context, fn func(reader) error) (err error) {
	defer func() {
		if r := recover(); r != nil { // bbolt panics on pages that make no sense
			err = fmt.Errorf("%w: reading it: %v", ErrCorrupt, r)
		}
	}()
	err = s.db.View(func(tx *bolt.Tx) error {
		return fn(reader{tx: tx, files: s.blobs, stop: ctx.Err})
	})
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
