package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"
)

// writeSynced creates a new file. It fails if the file exists: names of payloads are
// unique.
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

// createAnew creates a file in the place of one that may be there. It follows no link, because a
// member of a team runs as the same user and could have put one there.
func createAnew(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// CopyFile replaces to by a synced copy of from. It copies piece by piece, because a
// store may be bigger than the memory.
func CopyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := createAnew(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// CopyStore writes the transaction's state of the store to a file. bbolt's own CopyFile
// hides the system's error, which tells a full disk from damage.
func CopyStore(tx *bolt.Tx, path string) error {
	f, err := createAnew(path)
	if err != nil {
		return err
	}
	out := &failing{file: f}
	if _, err = tx.WriteTo(out); out.err != nil {
		err = out.err
	}
	return errors.Join(err, f.Close())
}

// failing remembers why a write failed.
type failing struct {
	file *os.File
	err  error
}

// Write writes to the file.
func (f *failing) Write(p []byte) (n int, err error) {
	if n, err = f.file.Write(p); err != nil {
		f.err = err
	}
	return n, err
}

// SyncDir makes the names in a folder durable. Systems that cannot sync a folder do
// not need to: they return EINVAL or refuse to open it.
func SyncDir(dir string) error {
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

// LinkOrCopy links a file under another name, or copies it if links are not
// supported. If the name exists, it is assumed to hold the same content.
func LinkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	if err := CopyFile(from, to); err != nil {
		return fmt.Errorf("copy instead of linking: %w", err)
	}
	return nil
}

// Remove deletes a file. A missing file is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncFile makes a file durable that something else has written and closed.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
