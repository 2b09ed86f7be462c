package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// Blobs is the folder of the payloads that are too long for a record.
//
// Each file has a unique name that is never reused. It is complete and synced before
// the commit that refers to it, and removed after the commit that drops the last
// reference (bucketRefs counts them). Files that a crash leaves behind in between are
// removed at the next Open.
type Blobs struct {
	dir     string
	once    sync.Once // makes dir for the first file
	made    error
	refused func(error) // called with the error of a failed write
	replica Replica     // has the payloads as well; nil: nobody has
}

// NewBlobs returns the payloads in a folder, which is created for the first of them.
// refused is called with the disk's error when a payload or change cannot be written;
// it may be called by several goroutines at once and must not block. nil: not called.
// replica has the payloads as well; nil: nobody has.
func NewBlobs(dir string, refused func(error), replica Replica) *Blobs {
	if refused == nil {
		refused = func(error) {}
	}
	return &Blobs{dir: dir, refused: refused, replica: replica}
}

// BlobRef refers from a record to a payload file.
type BlobRef struct {
	Name string `json:"blob"`
	Size int64  `json:"size"` // bytes
}

// ErrBlobGone: a read of a payload that was removed. A reader whose transaction is
// older than the removal may get it and has to read again.
var ErrBlobGone = fmt.Errorf("%w: a long payload is gone", ErrCorrupt)

// Dir returns the folder.
func (b *Blobs) Dir() string { return b.dir }

// write stores data in a new file, which is on disk when write returns.
func (b *Blobs) write(data string) (BlobRef, error) {
	b.once.Do(func() { b.made = b.mkdir() })
	if b.made != nil {
		return BlobRef{}, b.diskError(b.made)
	}
	ref := BlobRef{Name: rand.Text(), Size: int64(len(data))}
	path := filepath.Join(b.dir, ref.Name)
	err := writeSynced(path, data)
	if err == nil {
		err = SyncDir(b.dir)
	}
	if err == nil && b.replica != nil {
		err = b.replica.PutText(ref.Name, data)
	}
	if err != nil {
		return BlobRef{}, b.diskError(errors.Join(err, b.remove(ref.Name)))
	}
	return ref, nil
}

// mkdir creates the folder and syncs its parent: a file is only as durable as the
// directory entries that lead to it.
func (b *Blobs) mkdir() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for long payloads: %w", err)
	}
	return SyncDir(filepath.Dir(b.dir))
}

// Read returns the payload that ref names. It fails with ErrBlobGone if the file does
// not exist and with ErrCorrupt if it has another size.
func (b *Blobs) Read(ref BlobRef) (string, error) {
	path := filepath.Join(b.dir, filepath.Base(ref.Name))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && b.fetch(ref.Name) == nil {
		data, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s", ErrBlobGone, path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if int64(len(data)) != ref.Size {
		return "", sizeError(path, int64(len(data)), ref)
	}
	return string(data), nil
}

func sizeError(path string, have int64, ref BlobRef) error {
	return fmt.Errorf("%w: %s has %d bytes instead of %d", ErrCorrupt, path, have, ref.Size)
}

// fetch writes the file of a payload that only the replica has.
func (b *Blobs) fetch(name string) error {
	if b.replica == nil {
		return fs.ErrNotExist
	}
	text, err := b.replica.Text(name)
	if err == nil {
		err = b.mkdir()
	}
	part := filepath.Join(b.dir, rand.Text()) // the next Open removes it after a crash
	if err == nil {
		err = writeSynced(part, text)
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(b.dir, filepath.Base(name)))
	}
	return err
}

// remove deletes a payload that nothing refers to. A missing file is no error.
func (b *Blobs) remove(name string) error {
	if b.replica != nil {
		b.replica.DropText(name)
	}
	return Remove(filepath.Join(b.dir, filepath.Base(name)))
}

// sweep removes the files for which used returns false.
func (b *Blobs) sweep(used func(name string) bool) error {
	if b.replica != nil {
		b.replica.SweepTexts(used)
	}
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list payload files: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || used(e.Name()) {
			continue
		}
		if err := b.remove(e.Name()); err != nil {
			return fmt.Errorf("remove a leftover payload: %w", err)
		}
	}
	return nil
}

// diskError calls refused and returns an error for people about a write that failed.
func (b *Blobs) diskError(err error) error {
	b.refused(err)
	return fmt.Errorf("%w: %w; the change has not happened, try again when the disk takes writes", ErrDisk, err)
}

// check verifies that a payload's file exists and has the right size. Its errors are
// those of Read.
func (b *Blobs) check(ref BlobRef) error {
	path := filepath.Join(b.dir, filepath.Base(ref.Name))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && b.fetch(ref.Name) == nil {
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrBlobGone, path)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case info.Size() != ref.Size:
		return sizeError(path, info.Size(), ref)
	}
	return nil
}

// writePlaceholder writes a payload file that says that the payload is lost. It is
// valid as text and as JSON, and has the size of the lost payload, because readers
// check the size.
func (b *Blobs) writePlaceholder(name string, size int64) error {
	const says = `"(covey: this text was lost when the damaged store was restored)"`
	if err := b.mkdir(); err != nil {
		return err
	}
	text := says + strings.Repeat(" ", int(max(0, size-int64(len(says)))))
	return writeSynced(filepath.Join(b.dir, filepath.Base(name)), text)
}

// BlobNames returns the names of the payload files that records need.
func BlobNames(tx *bolt.Tx) (names []string) {
	c := tx.Bucket([]byte(bucketRefs)).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if name, _, ok := SplitName(k); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// LinkTo links payload files into another folder. A file that is gone belonged to a
// record that was dropped in the meantime, and is left out.
func (b *Blobs) LinkTo(dir string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep long payloads: %w", err)
	}
	for _, name := range names {
		err := LinkOrCopy(filepath.Join(b.dir, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep a long payload: %w", err)
		}
	}
	return SyncDir(dir)
}

// LinkFrom links the payload files that LinkTo has put into a folder back.
func (b *Blobs) LinkFrom(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list kept payloads: %w", err)
	}
	if err := b.mkdir(); err != nil {
		return err
	}
	for _, e := range entries {
		if err := LinkOrCopy(filepath.Join(dir, e.Name()), filepath.Join(b.dir, e.Name())); err != nil {
			return err
		}
	}
	return SyncDir(b.dir)
}
