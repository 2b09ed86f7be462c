package kv

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
// A file has a name of its own that is never used again, is complete and
// synced before the commit that refers to it, and is removed after the commit
// that drops the last reference (bucketRefs counts them). What a crash leaves
// behind in between is removed at the next Open.
type Blobs struct {
	dir     string
	once    sync.Once // makes dir, with the first file
	made    error
	refused func(error) // told what the disk said to a write
}

// NewBlobs gives the payloads in a folder, which is made with the first of them.
// refused is told what the disk said to a payload or change that it did not take;
// it may be called by several goroutines at once and must not block. nil: nobody
// is told.
func NewBlobs(dir string, refused func(error)) *Blobs {
	if refused == nil {
		refused = func(error) {}
	}
	return &Blobs{dir: dir, refused: refused}
}

// BlobRef says in a record where a payload is.
type BlobRef struct {
	Name string `json:"blob"`
	Size int64  `json:"size"` // bytes
}

// ErrBlobGone is what reading a removed payload gives. A reader may meet it
// when its transaction is older than the removal: it then has to look again.
var ErrBlobGone = fmt.Errorf("%w: a long payload is gone", ErrCorrupt)

// Dir is the folder.
func (b *Blobs) Dir() string { return b.dir }

// write stores data in a new file. It is on disk when write returns.
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
	if err != nil {
		return BlobRef{}, b.diskError(errors.Join(err, b.remove(ref.Name)))
	}
	return ref, nil
}

// mkdir makes the folder, durably, because a file is only as safe as the
// entries that lead to it.
func (b *Blobs) mkdir() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for long payloads: %w", err)
	}
	return SyncDir(filepath.Dir(b.dir))
}

// Read gives the payload that ref names. It fails with ErrBlobGone when the
// file is not there and with ErrCorrupt when it is not what was written.
func (b *Blobs) Read(ref BlobRef) (string, error) {
	path := filepath.Join(b.dir, filepath.Base(ref.Name))
	data, err := os.ReadFile(path)
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

// remove deletes a payload that nothing refers to. One that is gone is fine.
func (b *Blobs) remove(name string) error { return Remove(filepath.Join(b.dir, filepath.Base(name))) }

// sweep removes the files that used does not know.
func (b *Blobs) sweep(used func(name string) bool) error {
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
			return fmt.Errorf("remove what a crash left: %w", err)
		}
	}
	return nil
}

// diskError says for people that a write did not work, and tells refused.
func (b *Blobs) diskError(err error) error {
	b.refused(err)
	return fmt.Errorf("%w: %w; the change has not happened, try again when the disk takes writes", ErrDisk, err)
}

// check says whether a payload's file is there and as long as it should be,
// with the errors of Read.
func (b *Blobs) check(ref BlobRef) error {
	path := filepath.Join(b.dir, filepath.Base(ref.Name))
	info, err := os.Stat(path)
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

// standIn makes a payload file that says that the payload is lost. It is text and JSON
// alike, and as long as what it stands for, since readers look at that.
func (b *Blobs) standIn(name string, size int64) error {
	const says = `"(covey: this text was lost when the damaged store was restored)"`
	if err := b.mkdir(); err != nil {
		return err
	}
	text := says + strings.Repeat(" ", int(max(0, size-int64(len(says)))))
	return writeSynced(filepath.Join(b.dir, filepath.Base(name)), text)
}

// BlobNames lists the payload files that records need.
func BlobNames(tx *bolt.Tx) (names []string) {
	bucketOf(tx, bucketRefs).Each(nil, func(k, _ []byte) bool {
		if name, _, ok := SplitName(k); ok {
			names = append(names, name)
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// LinkTo makes payload files known in another folder as well. One that has gone
// by now belonged to a record that was dropped meanwhile, and is left out.
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

// LinkFrom brings back the payload files that LinkTo has kept in a folder.
func (b *Blobs) LinkFrom(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list them: %w", err)
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
