package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Backups are whole copies of the file as of one commit, each looked through before it
// counts as one. They are made when the store is opened, every so often, and when it
// is closed, if anything has changed; a few are kept. Payload files are linked into
// them, so that what a backup refers to stays as long as it does.

// maxVerified is how big a file may be that is looked through when it is opened, and
// backed up: 64 MiB are 100,000 tasks, and looking through them takes as long as people
// and PERF.md allow a start to take. A bigger one is opened as it is.
const maxVerified = 64 << 20

// backupEvery is the default of Options.BackupEvery.
const backupEvery = 10 * time.Minute

// backupSuffix is what the names of backups end with; before it stands a number.
const backupSuffix = ".db"

// backups is the folder of a store's backups.
type backups struct {
	dir   string
	keep  int
	blobs *blobs
	last  int // transaction that the newest one is of; 0: unknown
}

// path is where a backup of that number stands, and links where its payloads do.
func (b *backups) path(n int) string {
	return filepath.Join(b.dir, fmt.Sprintf("%06d", n)+backupSuffix)
}
func (b *backups) links(n int) string { return filepath.Join(b.dir, fmt.Sprintf("%06d.blobs", n)) }

// numbers lists the backups, newest first.
//
// Files still named .part are none: their copy was not finished or not found sound.
func (b *backups) numbers() []int {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil // none yet, or none to be had: whoever wants one says so
	}
	var list []int
	for _, e := range entries {
		name, isDB := strings.CutSuffix(e.Name(), backupSuffix)
		if n, err := strconv.Atoi(name); err == nil && isDB {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// make copies the store, looks the copy through, and only then gives it its name.
//
// s.saving is held, so numbers are given out once. The transaction's id tells whether
// anything has changed since the newest backup: it rises with every commit. After an
// error nothing of the new backup is left, and the older ones are as they were.
func (b *backups) make(db *bolt.DB) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for backups: %w", err)
	}
	n := 1
	if had := b.numbers(); len(had) > 0 {
		n = had[0] + 1
	}
	part := b.path(n) + ".part"
	id, names := 0, []string(nil)
	err := db.View(func(tx *bolt.Tx) error {
		if id = tx.ID(); id == b.last || tx.Size() > maxVerified {
			return nil
		}
		names = blobNames(tx)
		// While the read transaction is open nothing that it refers to is dropped for good
		// but payload files: they are linked here, before they can go.
		if err := b.link(n, names); err != nil {
			return err
		}
		return tx.CopyFile(part, 0o600)
	})
	if err == nil && id != b.last {
		err = b.accept(n, part)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("back up the store: %w", err), remove(part), os.RemoveAll(b.links(n)))
	}
	b.last = id
	return b.trim()
}

// accept makes a copy count, if it is sound.
//
// The name comes last and after a sync, so that what is called a backup is one, over a
// power cut too. A copy that is not sound is told as a fault of the store, from which it
// was just made, and no good backup is dropped for it.
func (b *backups) accept(n int, part string) error {
	if _, err := os.Stat(part); errors.Is(err, fs.ErrNotExist) {
		return nil // the store is too big to be copied
	}
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
	each(tx.Bucket([]byte(bucketRefs)), nil, func(k, _ []byte) bool {
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
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy what cannot be linked: %w", err)
	}
	return writeSynced(to, string(data))
}

// trim removes the oldest backups, and what a crash has left of others.
//
// It goes by the number before the first dot, so that a backup, its payloads and its
// unfinished copy go together. Files with other names are somebody else's.
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
		head, _, _ := strings.Cut(e.Name(), ".")
		n, err := strconv.Atoi(head)
		if err == nil && (!slices.Contains(keep, n) || strings.HasSuffix(e.Name(), ".part")) {
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

// Backup makes a backup now, if anything has changed since the last one. It does
// nothing without Options.Backups, and for a file that is too big for one.
func (s *Store) Backup(ctx context.Context) error {
	if s.backups == nil || s.opts.ReadOnly {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	return s.backups.make(s.db)
}

// keepSafe makes backups until the store is closed. The first one comes at once: what
// was just looked through is worth keeping.
//
// It runs in a goroutine of its own from Open to Close; Close waits for it (s.safe).
func (s *Store) keepSafe() {
	defer close(s.safe)
	for {
		// A backup that fails is no reason to stop work; the next one is tried in time, and
		// the last one when the store is closed says so.
		_ = s.Backup(context.Background())
		select {
		case <-time.After(s.opts.BackupEvery):
		case <-s.ending:
			return
		}
	}
}
