package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/backup"
	"github.com/coveyteam/covey/tasks/kv"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/verdicts"

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
	Identity kv.Identity
	// Refused is told what the disk said to a change that it did not take; its caller
	// gets the same as ErrDisk. It may be called by several goroutines at once and must
	// not block. nil: nobody is told.
	Refused func(error)

	most   int64                // bytes of the biggest store that is looked through; tests set it
	commit func(*bolt.Tx) error // how a transaction is committed; tests set it
}

// Store is one team's state. Its methods may be called from any number of
// goroutines; the Store must be closed.
type Store struct {
	db       *kv.DB
	backups  *backup.Keeper
	restored *backup.Restoration // nil: Open found all well

	mail     *mail.Boxes
	requests *requests.Desk
	verdicts *verdicts.Book
	members  *Members
	outbox   *Outbox
	decoded  *decodedTasks

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
	var o Options
	if opts != nil {
		o = *opts
	}
	o.fill(path)
	s, err := o.open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return s, nil
}

func (o Options) open(path string) (*Store, error) {
	blobs := kv.NewBlobs(o.BlobDir, o.Refused)
	backups := backup.New(path, backup.Options{
		Keep: o.Backups, Every: o.BackupEvery, Most: o.most, ReadOnly: o.ReadOnly, LockTimeout: o.LockTimeout, Blobs: blobs,
	})
	restored, err := backups.Restore()
	if err != nil {
		return nil, err
	}
	db, err := kv.Open(path, kv.Options{
		Buckets: bucketNames(), Rising: []string{bucketTasks, bucketReady}, Describe: describe,
		Now: o.Now, ReadOnly: o.ReadOnly, LockTimeout: o.LockTimeout, Identity: o.Identity,
		Blobs: blobs, Log: backups, Commit: o.commit,
	})
	if err != nil {
		return nil, err
	}
	boxes := mail.New(db, o.MaxUnread, mailedTasks{})
	s := &Store{
		db: db, backups: backups, restored: restored,
		mail: boxes, requests: requests.NewDesk(db, boxes), verdicts: verdicts.NewBook(db),
		members: &Members{db: db}, outbox: &Outbox{db, boxes}, decoded: newDecodedTasks(),
	}
	if restored != nil {
		if err := s.takeStock(); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	backups.Start(db)
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
	if o.MaxUnread <= 0 {
		o.MaxUnread = 1_000
	}
}

// takeStock finds out what a restored store knows and lacks.
func (s *Store) takeStock() error {
	ctx := context.Background()
	var err error
	if s.restored.Event, err = s.outbox.LastEvent(ctx); err != nil {
		return err
	}
	s.restored.Texts, err = s.db.Replace(ctx, indexNames(), walks()...)
	return err
}

// Close finishes the changes that were handed in, waits for readers, and
// closes the file. Calls that come later fail with ErrClosed. A second Close
// waits for the first and returns what it returned.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.db.Stop()
		s.closeAs = errors.Join(s.backups.Close(s.db), s.db.Close())
	})
	return s.closeAs
}

// Mail gives the mailboxes.
func (s *Store) Mail() *mail.Boxes { return s.mail }

// Requests gives what members have asked.
func (s *Store) Requests() *requests.Desk { return s.requests }

// Verdicts gives what gates have said.
func (s *Store) Verdicts() *verdicts.Book { return s.verdicts }

// Members gives the members and their sessions.
func (s *Store) Members() *Members { return s.members }

// Outbox gives what has happened and was not carried on yet.
func (s *Store) Outbox() *Outbox { return s.outbox }

// Merges gives the finished work that is on its way into its branch.
func (s *Store) Merges() *Merges { return &Merges{s.db} }

// Restored says what Open has restored; nil: the file was sound.
func (s *Store) Restored() *backup.Restoration { return s.restored }

// Backups gives the keeper of the store's backups.
func (s *Store) Backups() *backup.Keeper { return s.backups }

// Backup makes a backup now, if anything has changed since the last one. It does
// nothing without Options.Backups, and fails for a store that is too big for one.
func (s *Store) Backup(ctx context.Context) error { return s.backups.Backup(ctx, s.db) }

// Lost gives a channel that is closed when the file was overwritten, cut off or replaced
// while the store was open. All calls fail with ErrReplaced then, and so does Cause.
func (s *Store) Lost() <-chan struct{} { return s.db.Lost() }

// Cause says why the store is lost; nil: it is not.
func (s *Store) Cause() error { return s.db.Cause() }

// txn is a change of tasks within a transaction.
type txn struct {
	reader
	tx *kv.Tx
}

func changing(tx *kv.Tx) *txn { return &txn{reader{tx.Reader}, tx} }

// act makes a change in an actor's name: it refuses an old session, answers a
// repeated call from its receipt, and else runs the change and keeps its receipt.
func act(ctx context.Context, c *kv.Job, a actors.Actor, run func(*txn) (*receiptRecord, error)) (Receipt, error) {
	return actors.Act(ctx, c, a, func(tx *kv.Tx) (*receiptRecord, error) {
		rec, err := run(changing(tx))
		if err == nil {
			rec.Op = c.Op
		}
		return rec, err
	})
}
