package tasks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
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
	// Identity says whose store it is. Open of a store with another one fails with
	// ErrForeign. The zero value fits all stores.
	Identity Identity
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

	decoded *decodedTasks

	guard *guard // of the file

	// update is write; tests put failures in its place.
	update func(func(*bolt.Tx) error) error
	broken error  // why no more changes are taken; the committer's own
	digest uint64 // after the last commit; likewise

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
	watched  chan struct{} // closed when the file is not watched any more

	closing sync.Once
	closeAs error
}

// Open opens the store at path and makes it if it is not there (readable and
// writable for the owner only). opts may be nil.
//
// It fails with ErrLocked when another process has it open, with ErrFormat
// when the file is not a store of this version or an older one, with ErrForeign when
// it is another team's, with
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
		watched: make(chan struct{}),
		guard:   newGuard(path),
		decoded: newDecodedTasks(),
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
	db, err := openFile(path, s.opts, s.guard)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.db, s.update = db, s.write
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	if s.opts.ReadOnly {
		close(s.stopped)
		close(s.watched)
		return s, nil
	}
	if s.backups != nil {
		s.record = &commitRecord{}
		s.backups.tell(s.backups.beginLog()) // a store without a log works all the same
	}
	go s.commitLoop() // Close waits for all of them
	go s.watch()
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
func (s *Store) prepare() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = recovered("reading it", r)
		}
	}()
	if err := establish(s.db, formatNow, migrations()); err != nil {
		return err
	}
	if !s.opts.ReadOnly {
		if err := layDigest(s.db); err != nil {
			return err
		}
	}
	if s.guard.owner, err = identify(s.db, s.opts.Identity); err != nil {
		return err
	}
	if s.restored != nil {
		if err := s.takeStock(); err != nil {
			return err
		}
	}
	return s.db.View(func(tx *bolt.Tx) error {
		s.guard.last.Store(uint64(tx.ID()))
		s.guard.page = s.db.Info().PageSize
		s.digest = lastNum(tx.Bucket([]byte(bucketMeta)).Get([]byte(keyDigest)))
		if k, _ := tx.Bucket([]byte(bucketOutbox)).Cursor().First(); k != nil {
			s.ring()
		}
		if s.opts.ReadOnly {
			return nil
		}
		refs := bucketOf(tx, bucketRefs)
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
			s.awaitCommitter()
			close(s.ending)
			<-s.safe
			<-s.watched
		}
		if s.guard.err() != nil {
			// bbolt may hold a lock for ever. Closing the file gives the system's lock back.
			s.closeAs = errors.Join(s.endLog(), unlockFile(s.guard.file), s.guard.file.Close())
			return
		}
		s.closeAs = errors.Join(s.Backup(context.Background()), s.endLog(), s.db.Close())
	})
	return s.closeAs
}

// awaitCommitter waits until the committer has ended. When the file was replaced it may
// wait for a reader that bbolt has lost count of, so there is a limit.
func (s *Store) awaitCommitter() {
	select {
	case <-s.stopped:
	case <-s.guard.gone:
		select {
		case <-s.stopped:
		case <-time.After(time.Second):
		}
	}
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
		err = s.read(func(tx *bolt.Tx) error {
			return fn(reader{tx: tx, files: s.blobs, decoded: s.decoded, stop: ctx.Err})
		})
		if !errors.Is(err, errBlobGone) {
			return err
		}
	}
	return err
}
