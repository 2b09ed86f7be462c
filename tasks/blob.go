package tasks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// blobs is the folder of the payloads that are too long for a record.
//
// A file has a name of its own that is never used again, is complete and
// synced before the commit that refers to it, and is removed after the commit
// that drops the last reference (bucketRefs counts them). What a crash leaves
// behind in between is removed at the next Open.
type blobs struct {
	dir     string
	once    sync.Once // makes dir, with the first file
	made    error
	refused func(error) // Options.Refused; may be nil
}

// blobRef says in a record where a payload is.
type blobRef struct {
	Name string `json:"blob"`
	Size int64  `json:"size"` // bytes
}

// errBlobGone is what reading a removed payload gives. A reader may meet it
// when its transaction is older than the removal: it then has to look again.
var errBlobGone = fmt.Errorf("%w: a long payload is gone", ErrCorrupt)

// write stores data in a new file. It is on disk when write returns.
func (b *blobs) write(data string) (blobRef, error) {
	b.once.Do(func() { b.made = b.mkdir() })
	if b.made != nil {
		return blobRef{}, b.diskError(b.made)
	}
	ref := blobRef{Name: rand.Text(), Size: int64(len(data))}
	path := filepath.Join(b.dir, ref.Name)
	err := writeSynced(path, data)
	if err == nil {
		err = syncDir(b.dir)
	}
	if err != nil {
		return blobRef{}, b.diskError(errors.Join(err, b.remove(ref.Name)))
	}
	return ref, nil
}

// mkdir makes the folder, durably, because a file is only as safe as the
// entries that lead to it.
func (b *blobs) mkdir() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("folder for long payloads: %w", err)
	}
	return syncDir(filepath.Dir(b.dir))
}

// read gives the payload that ref names. It fails with errBlobGone when the
// file is not there and with ErrCorrupt when it is not what was written.
func (b *blobs) read(ref blobRef) (string, error) {
	path := filepath.Join(b.dir, filepath.Base(ref.Name))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s", errBlobGone, path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if int64(len(data)) != ref.Size {
		return "", sizeError(path, int64(len(data)), ref)
	}
	return string(data), nil
}

func sizeError(path string, have int64, ref blobRef) error {
	return fmt.Errorf("%w: %s has %d bytes instead of %d", ErrCorrupt, path, have, ref.Size)
}

// remove deletes a payload that nothing refers to. One that is gone is fine.
func (b *blobs) remove(name string) error {
	err := os.Remove(filepath.Join(b.dir, filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweep removes the files that used does not know.
func (b *blobs) sweep(used func(name string) bool) error {
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

// writeSynced makes a new file. It never writes over one: a name that is taken
// would mean that two payloads are one.
func writeSynced(path, data string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// copyFile makes to a copy of from, complete on disk, whatever was there before. It reads
// piece by piece, because a store may be bigger than what fits in memory.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// syncDir makes the names in a folder durable. Some systems cannot sync a
// folder and need not: they say so by EINVAL or by refusing to open it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !unsyncable(err) {
		return err
	}
	return nil
}

// diskError says for people that a write did not work, and tells Options.Refused.
func (b *blobs) diskError(err error) error {
	if b.refused != nil {
		b.refused(err)
	}
	return fmt.Errorf("%w: %w; the change has not happened, try again when the disk takes writes", ErrDisk, err)
}

// check says whether a payload's file is there and as long as it should be,
// with the errors of read.
func (b *blobs) check(ref blobRef) error {
	path := filepath.Join(b.dir, filepath.Base(ref.Name))
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", errBlobGone, path)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case info.Size() != ref.Size:
		return sizeError(path, info.Size(), ref)
	}
	return nil
}
