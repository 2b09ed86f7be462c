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

	"github.com/coveyteam/covey/tasks/kv"

	bolt "go.etcd.io/bbolt"
)

// Backups are whole copies of the file as of one commit, each looked through before it
// counts as one. They are made when the store is opened, every so often, and when it
// is closed, if anything has changed; a few are kept. Payload files are linked into
// them, so that what a backup refers to stays as long as it does. What was committed since
// stands in the log of commits beside them (log.go).

// maxVerified is how big a store may be that is looked through when it is opened, and
// backed up: 1 GiB is about 1.6 million tasks, and each 100 MiB take about 0.4 s. A bigger
// one is opened as it is, without backups, and Trouble says so.
const maxVerified = 1 << 30

// backupEvery is the default of Options.Every; backupAgain is how soon one that
// failed is tried again, at the latest.
const (
	backupEvery = 10 * time.Minute
	backupAgain = time.Minute
)

// syncEvery is how old a commit may be whose record in the log is not synced.
const syncEvery = time.Second

// backupSuffix is what the names of backups end with; before it stands a number.
const backupSuffix = ".db"

// Options are what New is told.
type Options struct {
	// Keep is how many backups are kept; 0: none are made, and nothing is restored.
	Keep int
	// Every is how often a backup is made of a store that changes; default 10 minutes.
	Every time.Duration
	// Most is how many bytes the biggest store has that is looked through; default 1 GiB.
	Most int64
	// ReadOnly says that the store is only read: a damaged one is not restored.
	ReadOnly bool
	// LockTimeout is how long Restore waits for another process to close the store.
	LockTimeout time.Duration
	// Blobs are the store's long payloads.
	Blobs *kv.Blobs
}

// Keeper keeps the backups of one store. Its methods may be called from any number
// of goroutines.
type Keeper struct {
	store string // path
	dir   string
	opts  Options
	last  int // transaction that the newest one is of; 0: unknown
	log   commitLog

	saving sync.Mutex // held while a backup is made
	ending chan struct{}
	idle   sync.WaitGroup // the goroutine of Start

	mu      sync.Mutex
	trouble error         // why the last try failed; nil: it did not
	changed chan struct{} // holds a token when trouble has come or gone
}

// New gives the keeper of the store at path.
func New(path string, o Options) *Keeper {
	if o.Every <= 0 {
		o.Every = backupEvery
	}
	if o.Most <= 0 {
		o.Most = maxVerified
	}
	return &Keeper{
		store: path, dir: path + dirSuffix, opts: o, ending: make(chan struct{}),
		log: commitLog{unsynced: make(chan struct{}, 1)}, changed: make(chan struct{}, 1),
	}
}

// path is where a backup of that number stands, links where its payloads do, and logPath
// where the commits are that it lacks.
func (b *Keeper) path(n int) string    { return b.file(n, backupSuffix) }
func (b *Keeper) links(n int) string   { return b.file(n, ".blobs") }
func (b *Keeper) logPath(n int) string { return b.file(n, logSuffix) }

func (b *Keeper) file(n int, suffix string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%06d", n)+suffix)
}

// numbers lists the backups, newest first.
func (b *Keeper) numbers() []int { return b.numbered(backupSuffix) }

// numbered lists the numbers of the files with such names, highest first.
//
// Files still named .part are none: their copy was not finished or not found sound.
func (b *Keeper) numbered(suffix string) []int {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil // none yet, or none to be had: whoever wants one says so
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

// beginLog has the commits from now on noted in a part of the log that no backup has
// come before.
func (b *Keeper) beginLog() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for backups: %w", err)
	}
	n := 1 + slices.Max(append(append(b.numbers(), b.numbered(logSuffix)...), 0))
	if err := b.log.begin(b.logPath(n), n); err != nil {
		return fmt.Errorf("begin a log of commits: %w", err)
	}
	return kv.SyncDir(b.dir)
}

// ready gives the number for the next backup: that of the part of the log that goes on
// where the backup ends. It must be called before the copy begins.
func (b *Keeper) ready() (int, error) {
	n, _, broken := b.log.state()
	if broken == nil && slices.Contains(b.numbered(logSuffix), n) && !slices.Contains(b.numbers(), n) {
		return n, nil
	}
	err := b.beginLog()
	n, _, _ = b.log.state()
	return n, err
}

// reading runs a function in a read transaction.
type reading func(func(*bolt.Tx) error) error

// make copies the store, looks the copy through, and only then gives it its name.
//
// b.saving is held, so numbers are given out once. The transaction's id tells whether
// anything has changed since the newest backup: it rises with every commit. After an
// error nothing of the new backup is left, and the older ones are as they were.
func (b *Keeper) make(read reading) error {
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
		b.log.giveUp(ErrTooBig) // it would follow on nothing
		return fmt.Errorf("%w: it has %d MiB, and %d MiB can be looked through and backed up: "+
			"damage to it will not be made good; covey up --fresh begins a new one", ErrTooBig, size>>20, b.opts.Most>>20)
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
		return errors.Join(fmt.Errorf("back up the store: %w", err), kv.Remove(part), os.RemoveAll(b.links(n)))
	}
	b.last = id
	return b.trim()
}

// ErrTooBig: a store that is not backed up for its size.
var ErrTooBig = errors.New("the store is too big for backups")

// copy copies the store as it is now to part, and says which transaction that is of.
func (b *Keeper) copy(read reading, n int, part string) (id int, err error) {
	err = read(func(tx *bolt.Tx) error {
		id = tx.ID()
		// While the read transaction is open nothing that it refers to is dropped for good
		// but payload files: they are linked here, before they can go.
		if err := b.opts.Blobs.LinkTo(b.links(n), kv.BlobNames(tx)); err != nil {
			return err
		}
		return tx.CopyFile(part, 0o600)
	})
	return id, err
}

// accept makes a copy count, if it is sound.
//
// The name comes last and after a sync, so that what is called a backup is one, over a
// power cut too. A copy that is not sound is told as a fault of the store, from which it
// was just made, and no good backup is dropped for it.
func (b *Keeper) accept(n int, part string) error {
	if _, err := kv.ReadImage(part); err != nil {
		return fmt.Errorf("the copy is not sound, so the store may not be either: %w", err)
	}
	if err := kv.SyncFile(part); err != nil {
		return fmt.Errorf("sync the copy: %w", err)
	}
	if err := os.Rename(part, b.path(n)); err != nil {
		return fmt.Errorf("name the copy: %w", err)
	}
	return kv.SyncDir(b.dir)
}

// trim removes the oldest backups, and what a crash has left of others.
//
// It goes by the number before the first dot, so that a backup, its payloads and its
// unfinished copy go together. Parts of the log stay as long as there is a backup that
// they follow on. Files with other names are somebody else's.
func (b *Keeper) trim() error {
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
