package kv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

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

// CopyFile makes to a copy of from, complete on disk, whatever was there before. It reads
// piece by piece, because a store may be bigger than what fits in memory.
func CopyFile(from, to string) (err error) {
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

// SyncDir makes the names in a folder durable. Some systems cannot sync a
// folder and need not: they say so by EINVAL or by refusing to open it.
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

// LinkOrCopy makes a file known by another name, or copies it where links are not to be
// had. A name that is taken holds the same.
func LinkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	if err := CopyFile(from, to); err != nil {
		return fmt.Errorf("copy what cannot be linked: %w", err)
	}
	return nil
}

// Remove deletes a file that may not be there.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncFile makes a file durable that somebody else has written and closed.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
