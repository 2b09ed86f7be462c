package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/backup"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
)

// Options configure Open. The zero value is ready for use.
type Options struct {
	// Now returns the time for tasks, messages and events; time.Now by default. It is
	// for display only: no order and no rule depends on it.
	Now func() time.Time
	// BlobDir is the folder for payloads over 64 KiB: descriptions, message texts and
	// data, metadata values, values of Put. It must hold nothing else: Open removes
	// files that the store does not know. Default: the store's path + ".blobs". The
	// folder is created when it is first needed.
	BlobDir string
	// ReadOnly opens the store for reading together with other readers, but not with
	// a writer. Changes fail with ErrReadOnly.
	ReadOnly bool
	// LockTimeout is how long Open waits for another process to close the
	// store; by default not at all.
	LockTimeout time.Duration
	// MaxUnread bounds the unread messages of one member: Send to a full mailbox
	// fails with ErrFull. Default 1,000. Messages of the store itself (task
	// assignments) and answers to a member's questions are never refused.
	MaxUnread int
	// Backups is how many verified backups are kept in the folder path + ".backups";
	// 0: none. With backups, Open checks the whole file and replaces a damaged one by
	// the newest backup (Store.Restored); with ReadOnly it only reports the damage.
	Backups int
	// BackupEvery is how often a changing store is backed up; default 10 minutes.
	// Open and Close make a backup as well.
	BackupEvery time.Duration
	// Identity describes to which team the store belongs. Opening a store with another
	// identity fails with ErrForeign. The zero value matches all stores.
	Identity store.Identity
	// Refused is called with the error of the disk when it rejects a change; the
	// caller of the change gets the error as ErrDisk. Refused may be called by
	// several goroutines at once and must not block. nil: not called.
	Refused func(error)
	// Replica is the truth that the file is a copy of; nil: the file is the truth. The
	// store then has no Identity.
	Replica store.Replica

	most   int64                // bytes of the biggest store that is checked whole; tests set it
	commit func(*bolt.Tx) error // how a transaction is committed; tests set it
}

// Store is the state of one team. Its methods may be called from any number of
// goroutines. The Store must be closed.
type Store struct {
	db       *store.DB
	backups  *backup.Backups
	restored *backup.Restoration // nil: Open restored nothing

	mail     *mail.Boxes
	requests *requests.Requests
	verdicts *requests.VerdictBook
	members  *Members
	outbox   *Outbox
	decoded  *decodedTasks

	closing sync.Once
	closeAs error
}

// Open opens the store at path. It creates the file if there is none, readable and
// writable for the owner only. opts may be nil.
//
// Open fails with ErrLocked if another process has the file open, with ErrFormat if
// the file is not a store of this version or an older one, with ErrForeign if it
// belongs to another team, with ErrCorrupt if it is damaged, and with the system's
// error if it cannot be opened. A file in an older format is copied to path.vN.bak
// before it is migrated; with ReadOnly, it is refused with ErrFormat.
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
	blobs := store.NewBlobs(o.BlobDir, o.Refused, o.Replica)
	backups := backup.New(path, backup.Options{
		Keep: o.Backups, Every: o.BackupEvery, Most: o.most, ReadOnly: o.ReadOnly, LockTimeout: o.LockTimeout, Blobs: blobs,
		Replica: o.Replica,
	})
	restored, err := backups.Restore()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(path, store.Options{
		Buckets: bucketNames(), Rising: []string{bucketTasks, bucketReady}, Describe: describe,
		Followed: []string{bucketTasks, bucketDeps}, // a task and what it blocks
		Now:      o.Now, ReadOnly: o.ReadOnly, LockTimeout: o.LockTimeout, Identity: o.Identity,
		Blobs: blobs, Log: backups, Commit: o.commit, Replica: o.Replica,
	})
	if err != nil {
		return nil, err
	}
	boxes := mail.New(db, o.MaxUnread, mailedTasks{})
	s := &Store{
		db: db, backups: backups, restored: restored,
		mail: boxes, requests: requests.NewRequests(db, boxes), verdicts: requests.NewVerdictBook(db),
		members: &Members{db: db}, outbox: &Outbox{db: db, mail: boxes}, decoded: newDecodedTasks(),
	}
	if restored != nil {
		if err := s.inspectRestored(); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	backups.Start(db)
	return s, nil
}

// fill sets the defaults.
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

// inspectRestored finds out what a restored store contains and what it lacks.
func (s *Store) inspectRestored() error {
	ctx := context.Background()
	var err error
	if s.restored.Event, err = s.outbox.LastEvent(ctx); err != nil {
		return err
	}
	s.restored.Texts, err = s.db.Replace(ctx, indexNames(), walks()...)
	return err
}

// Close finishes the changes that were submitted, waits for readers, and closes the
// file. Later calls fail with ErrClosed. A second Close waits for the first and
// returns its result.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.db.Stop()
		s.closeAs = errors.Join(s.backups.Close(s.db), s.db.Close())
	})
	return s.closeAs
}

// Mail returns the mailboxes.
func (s *Store) Mail() *mail.Boxes { return s.mail }

// Requests returns the requests of the members.
func (s *Store) Requests() *requests.Requests { return s.requests }

// Verdicts returns the verdicts of gates.
func (s *Store) Verdicts() *requests.VerdictBook { return s.verdicts }

// Members returns the members and their sessions.
func (s *Store) Members() *Members { return s.members }

// Outbox returns the queue of events that were not forwarded yet.
func (s *Store) Outbox() *Outbox { return s.outbox }

// Merges returns the finished work and its way into its branch.
func (s *Store) Merges() *Merges { return &Merges{s.db} }

// Restored describes what Open has restored; nil: the file was sound.
func (s *Store) Restored() *backup.Restoration { return s.restored }

// Backups returns the backups of the store.
func (s *Store) Backups() *backup.Backups { return s.backups }

// Backup makes a backup now if anything has changed since the last one. Without
// Options.Backups it does nothing. It fails if the store is too big for a backup.
func (s *Store) Backup(ctx context.Context) error { return s.backups.Backup(ctx, s.db) }

// Lost returns a channel that is closed when the file was overwritten, truncated or
// replaced while the store was open, or lost touch with its replica. From then on all calls
// and Cause fail with ErrReplaced or ErrReplica.
func (s *Store) Lost() <-chan struct{} { return s.db.Lost() }

// Cause returns why the store is lost; nil: it is not lost.
func (s *Store) Cause() error { return s.db.Cause() }

// txn is a change of tasks within a transaction.
type txn struct {
	reader
	tx *store.Tx
}

func changing(tx *store.Tx) *txn { return &txn{reader{tx.Reader}, tx} }

// act makes a change in an actor's name: it refuses an old session, answers a
// repeated call from its receipt, and otherwise runs the change and stores its
// receipt.
func act(ctx context.Context, c *store.Job, a actors.Actor, run func(*txn) (*receiptRecord, error)) (Receipt, error) {
	return actors.Act(ctx, c, a, func(tx *store.Tx) (*receiptRecord, error) {
		rec, err := run(changing(tx))
		if err == nil {
			rec.Op = c.Op
		}
		return rec, err
	})
}
