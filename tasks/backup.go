package tasks

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
)

// Backups are whole copies of the file as of one commit, each looked through before it
// counts as one. They are made when the store is opened, every so often, and when it
// is closed, if anything has changed; a few are kept. Payload files are linked into
// them, so that what a backup refers to stays as long as it does. What was committed since
// stands in the log of commits beside them (commitlog.go).

// maxVerified is how big a store may be that is looked through when it is opened, and
// backed up: 1 GiB is about 1.6 million tasks, and each 100 MiB take about 0.4 s. A bigger
// one is opened as it is, without backups, and BackupTrouble says so.
const maxVerified = 1 << 30

// backupEvery is the default of Options.BackupEvery; backupAgain is how soon one that
// failed is tried again, at the latest.
const (
	backupEvery = 10 * time.Minute
	backupAgain = time.Minute
)

// syncEvery is how old a commit may be whose record in the log is not synced.
const syncEvery = time.Second

// backupSuffix is what the names of backups end with; before it stands a number.
const backupSuffix = ".db"

// backups is the folder of a store's backups.
type backups struct {
	dir   string
	keep  int
	most  int64 // bytes of the biggest store that is backed up
	blobs *blobs
	last  int // transaction that the newest one is of; 0: unknown
	log   commitLog

	mu      sync.Mutex
	trouble error         // why the last try failed; nil: it did not
	changed chan struct{} // holds a token when trouble has come or gone
}

// newBackups are those of the store at path.
func newBackups(path string, o Options, files *blobs) *backups {
	return &backups{
		dir: path + backupDirSuffix, keep: o.Backups, most: o.most, blobs: files,
		log: commitLog{unsynced: make(chan struct{}, 1)}, changed: make(chan struct{}, 1),
	}
}

// path is where a backup of that number stands, links where its payloads do, and logPath
// where the commits are that it lacks.
func (b *backups) path(n int) string    { return b.file(n, backupSuffix) }
func (b *backups) links(n int) string   { return b.file(n, ".blobs") }
func (b *backups) logPath(n int) string { return b.file(n, logSuffix) }

func (b *backups) file(n int, suffix string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%06d", n)+suffix)
}

// numbers lists the backups, newest first.
func (b *backups) numbers() []int { return b.numbered(backupSuffix) }

// numbered lists the numbers of the files with such names, highest first.
//
// Files still named .part are none: their copy was not finished or not found sound.
func (b *backups) numbered(suffix string) []int {
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
func (b *backups) beginLog() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for backups: %w", err)
	}
	n := 1 + slices.Max(append(append(b.numbers(), b.numbered(logSuffix)...), 0))
	if err := b.log.begin(b.logPath(n), n); err != nil {
		return fmt.Errorf("begin a log of commits: %w", err)
	}
	return syncDir(b.dir)
}

// ready gives the number for the next backup: that of the part of the log that goes on
// where the backup ends. It must be called before the copy begins.
func (b *backups) ready() (int, error) {
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
// s.saving is held, so numbers are given out once. The transaction's id tells whether
// anything has changed since the newest backup: it rises with every commit. After an
// error nothing of the new backup is left, and the older ones are as they were.
func (b *backups) make(read reading) error {
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
	case size > b.most:
		b.log.giveUp(errTooBig) // it would follow on nothing
		return fmt.Errorf("%w: it has %d MiB, and %d MiB can be looked through and backed up: "+
			"damage to it will not be made good; covey up --fresh begins a new one", errTooBig, size>>20, b.most>>20)
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
		return errors.Join(fmt.Errorf("back up the store: %w", err), remove(part), os.RemoveAll(b.links(n)))
	}
	b.last = id
	return b.trim()
}

// errTooBig: a store that is not backed up for its size.
var errTooBig = errors.New("the store is too big for backups")

// copy copies the store as it is now to part, and says which transaction that is of.
func (b *backups) copy(read reading, n int, part string) (id int, err error) {
	err = read(func(tx *bolt.Tx) error {
		id = tx.ID()
		// While the read transaction is open nothing that it refers to is dropped for good
		// but payload files: they are linked here, before they can go.
		if err := b.link(n, blobNames(tx)); err != nil {
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
func (b *backups) accept(n int, part string) error {
	if _, err := readImage(part); err != nil {
		return fmt.Errorf("the copy is not sound, so the store may not be either: %w", err)
	}
	if err := syncFile(part); err != nil {
		return fmt.Errorf("sync the copy: %w", err)
	}
	if err := os.Rename(part, b.path(n)); err != nil {
		return fmt.Errorf("name the copy: %w", err)
	}
	return syncDir(b.dir)
}

// blobNames lists the payload files that records need.
func blobNames(tx *bolt.Tx) (names []string) {
	each(bucketOf(tx, bucketRefs), nil, func(k, _ []byte) bool {
		if name, _, ok := splitName(k); ok {
			names = append(names, name)
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// link keeps payload files for a backup. One that has gone since is none of its own.
//
// A payload file that is gone by now belonged to a record that was dropped meanwhile;
// linking what is left is right, for the copy itself is of one moment.
func (b *backups) link(n int, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := os.MkdirAll(b.links(n), 0o700); err != nil {
		return fmt.Errorf("keep long payloads: %w", err)
	}
	for _, name := range names {
		err := linkOrCopy(filepath.Join(b.blobs.dir, name), filepath.Join(b.links(n), name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep a long payload: %w", err)
		}
	}
	return syncDir(b.links(n))
}

// linkOrCopy makes a file known by another name, or copies it where links are not to be
// had. A name that is taken holds the same.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	if err := copyFile(from, to); err != nil {
		return fmt.Errorf("copy what cannot be linked: %w", err)
	}
	return nil
}

// trim removes the oldest backups, and what a crash has left of others.
//
// It goes by the number before the first dot, so that a backup, its payloads and its
// unfinished copy go together. Parts of the log stay as long as there is a backup that
// they follow on. Files with other names are somebody else's.
func (b *backups) trim() error {
	list := b.numbers()
	keep := list[:min(len(list), b.keep)]
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

// remove deletes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
