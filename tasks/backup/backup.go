package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/store"
)

// Backups are complete copies of the file as of one commit, each verified before it
// counts. They are made when the store is opened, periodically, and when it is
// closed, if anything has changed; a few are kept. Payload files are linked into
// them, so that they stay as long as the backup that refers to them. Later commits
// are in the log of commits (commitlog.go).

// maxVerified is the size of the biggest store that is verified when it is opened,
// and backed up: 1 GiB is about 2.8 million tasks, and 100 MiB take about 0.4 s. A
// bigger store is opened unverified and without backups, and Trouble says so.
const maxVerified = 1 << 30

// backupEvery is the default of Options.Every; backupAgain is the longest delay
// before a failed backup is tried again.
const (
	backupEvery = 10 * time.Minute
	backupAgain = time.Minute
)

// syncEvery bounds the age of a commit whose log record is not synced.
const syncEvery = time.Second

// backupSuffix is the suffix of the names of backups, after their number.
const backupSuffix = ".db"

// Options configure New.
type Options struct {
	// Keep is how many backups are kept; 0: no backups, and no restoring.
	Keep int
	// Every is how often a changing store is backed up; default 10 minutes.
	Every time.Duration
	// Most is the size in bytes of the biggest store that is verified; default 1 GiB.
	Most int64
	// ReadOnly means that the store is only read: a damaged one is not restored.
	ReadOnly bool
	// LockTimeout is how long Restore waits for another process to close the store.
	LockTimeout time.Duration
	// Blobs are the store's payload files.
	Blobs *store.Blobs
	// Replica gets each backup as well; nil: there is none.
	Replica store.Replica
}

// Backups keeps the backups of one store. Its methods may be called from any number
// of goroutines.
type Backups struct {
	store string // path
	dir   string
	opts  Options
	last  int // transaction of the newest backup; 0: unknown
	log   commitLog

	saving sync.Mutex // held while a backup is made
	ending chan struct{}
	idle   sync.WaitGroup // the goroutine of Start

	mu      sync.Mutex
	trouble error         // why the last backup or its log of commits failed; nil: neither did
	changed chan struct{} // holds a token when trouble has begun or ended
}

// New returns the backups of the store at path.
func New(path string, o Options) *Backups {
	if o.Every <= 0 {
		o.Every = backupEvery
	}
	if o.Most <= 0 {
		o.Most = maxVerified
	}
	return &Backups{
		store: path, dir: path + dirSuffix, opts: o, ending: make(chan struct{}),
		log: commitLog{unsynced: make(chan struct{}, 1)}, changed: make(chan struct{}, 1),
	}
}

// path returns the path of the backup with that number, links that of the folder with
// its payload files, and logPath that of the log with the commits that it lacks.
func (b *Backups) path(n int) string    { return b.file(n, backupSuffix) }
func (b *Backups) links(n int) string   { return b.file(n, ".blobs") }
func (b *Backups) logPath(n int) string { return b.file(n, logSuffix) }

func (b *Backups) file(n int, suffix string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%06d", n)+suffix)
}

// numbers returns the numbers of the backups, newest first.
func (b *Backups) numbers() []int { return b.numbered(backupSuffix) }

// numbered returns the numbers of the files with this suffix, highest first. Files
// named .part do not count: their copy was not finished or not verified.
func (b *Backups) numbered(suffix string) []int {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil // none yet, or unreadable: whoever needs one reports it
	}
	var list []int
	for _, e := range entries {
		name, has := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.Atoi(name); err == nil && has {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// beginLog starts a new part of the log, whose number no backup has yet.
func (b *Backups) beginLog() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for backups: %w", err)
	}
	n := 1 + slices.Max(append(append(b.numbers(), b.numbered(logSuffix)...), 0))
	if err := b.log.begin(b.logPath(n), n); err != nil {
		return fmt.Errorf("begin a log of commits: %w", err)
	}
	return store.SyncDir(b.dir)
}

// ready returns the number for the next backup: that of the part of the log that
// continues where the backup ends. Call it before the copy begins.
func (b *Backups) ready() (int, error) {
	n, _, broken := b.log.state()
	if broken == nil && slices.Contains(b.numbered(logSuffix), n) && !slices.Contains(b.numbers(), n) {
		return n, nil
	}
	err := b.beginLog()
	n, _, _ = b.log.state()
	return n, err
}

// reading is a function that runs fn in a read transaction.
type reading func(func(*bolt.Tx) error) error

// make copies the store, verifies the copy, and then gives it its final name.
//
// The caller holds b.saving. The transaction's id says whether anything has changed
// since the newest backup: it rises with every commit. After an error nothing of the
// new backup is left, and the older ones are unchanged.
func (b *Backups) make(read reading) error {
	var size int64
	id := 0
	err := read(func(tx *bolt.Tx) error {
		id, size = tx.ID(), tx.Size()
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("back up the store: %w", err)
	case id == b.last:
		return nil
	case size > b.opts.Most:
		b.log.giveUp(ErrTooBig) // it would continue no backup
		return fmt.Errorf("%w: it has %d MiB, and %d MiB can be verified and backed up: "+
			"damage to it cannot be repaired; covey up --fresh starts a new one", ErrTooBig, size>>20, b.opts.Most>>20)
	}
	n, err := b.ready()
	if err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	part := b.path(n) + ".part"
	if id, err = b.copy(read, n, part); err == nil {
		err = b.accept(n, part)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("back up the store: %w", err), store.Remove(part), os.RemoveAll(b.links(n)))
	}
	b.last = id
	return b.trim()
}

// ErrTooBig: the store is too big for backups.
var ErrTooBig = errors.New("the store is too big for backups")

// copy copies the present state of the store to part, and returns its transaction.
func (b *Backups) copy(read reading, n int, part string) (id int, err error) {
	err = read(func(tx *bolt.Tx) error {
		id = tx.ID()
		// While the read transaction is open, only payload files can be dropped for
		// good: link them here, before that happens.
		if err := b.opts.Blobs.LinkTo(b.links(n), store.BlobNames(tx)); err != nil {
			return err
		}
		return store.CopyStore(tx, part)
	})
	return id, err
}

// accept verifies a copy and makes it a backup. It renames the copy last and after a
// sync, so that a file with the name of a backup is a valid one even after a power
// cut. A copy that is damaged is reported as a fault of the store that it was made
// from, and no good backup is dropped for it.
func (b *Backups) accept(n int, part string) error {
	im, err := store.ReadImage(part)
	if err != nil {
		return fmt.Errorf("the copy is damaged, so the store may be too: %w", err)
	}
	if at, known := im.State(); known && b.opts.Replica != nil {
		if err := b.opts.Replica.Snapshot(part, at); err != nil {
			return err
		}
	}
	return store.PutInPlace(part, b.path(n))
}

// trim removes the oldest backups, and leftovers of a crash. It goes by the number
// before the first dot, so that a backup, its payloads and its unfinished copy are
// removed together. A part of the log stays as long as there is a backup that it
// continues. Files with other names are left alone.
func (b *Backups) trim() error {
	list := b.numbers()
	keep := list[:min(len(list), b.opts.Keep)]
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	var errs []error
	for _, e := range entries {
		head, tail, _ := strings.Cut(e.Name(), ".")
		n, err := strconv.Atoi(head)
		stays := slices.Contains(keep, n) && !strings.HasSuffix(tail, "part")
		if "."+tail == logSuffix {
			stays = len(keep) == 0 || n >= keep[len(keep)-1]
		}
		if err == nil && !stays {
			errs = append(errs, os.RemoveAll(filepath.Join(b.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
