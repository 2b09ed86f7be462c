package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Format is the format that this version reads and writes. Buckets and keys may be added
// under the same number; any other change needs a new one, and a migration.
const Format = 1

const keyFormat = "format"

// layout describes the content of a file.
type layout struct {
	format  int
	buckets []string
}

// migration converts a file from one format to the next.
type migration func(*bolt.Tx) error

// migrations returns the steps from format 1 to 2, from 2 to 3, and so on. There are none
// yet; the tests have one.
func migrations() []migration { return nil }

// openFile opens the bbolt file and translates its errors.
func openFile(path string, o Options, g *guard) (*bolt.DB, error) {
	_, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	db, err := OpenBolt(path, &bolt.Options{
		Timeout:         max(o.LockTimeout, time.Nanosecond), // 0 would wait for ever
		ReadOnly:        o.ReadOnly,
		NoFreelistSync:  true, // PERF.md: the cheapest updates, at the price of a scan in Open
		FreelistType:    bolt.FreelistMapType,
		PreLoadFreelist: !o.ReadOnly,
		OpenFile:        g.open,
		NoSync:          o.Replica != nil,
		NoGrowSync:      o.Replica != nil,
	})
	if err != nil {
		return nil, openError(path, err)
	}
	if isNew {
		if err := SyncDir(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// OpenBolt is bolt.Open with the panics that damaged pages cause returned as errors.
func OpenBolt(path string, o *bolt.Options) (db *bolt.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
	}()
	return bolt.Open(path, 0o600, o)
}

// openError separates errors of the system from damage of the file.
func openError(path string, err error) error {
	var system *fs.PathError
	var number syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return lockedError(path)
	case errors.As(err, &system), errors.As(err, &number), errors.Is(err, ErrCorrupt):
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// lockedError names the other process if the system reports it.
func lockedError(path string) error {
	who := "another process"
	if pid, ok := lockHolder(path); ok {
		who = "process " + strconv.Itoa(pid)
	}
	return fmt.Errorf("%w by %s: only one covey runs a team at a time", ErrLocked, who)
}

// establish makes sure that db is a store of the wanted format: an empty file becomes
// one, an older one is backed up and migrated step by step, in one transaction.
func establish(db *bolt.DB, blobs *Blobs, want layout, steps []migration) error {
	have, err := storedFormat(db)
	now := want.format
	switch {
	case err != nil || have == now:
		return err
	case have > now:
		return newerFormat(db.Path(), have, now)
	case db.IsReadOnly() && have == 0:
		return fmt.Errorf("%w: the file holds no store yet; open it for writing to make one", ErrFormat)
	case db.IsReadOnly():
		return fmt.Errorf("%w: the file has format %d; covey up brings it to format %d", ErrFormat, have, now)
	case have == 0:
		return db.Update(func(tx *bolt.Tx) error { return want.create(tx) })
	}
	if err := backUpFormat(db, blobs, have); err != nil {
		return fmt.Errorf("back up before migrating from format %d: %w", have, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for i, step := range steps[have-1:] {
			if err := step(tx); err != nil {
				return fmt.Errorf("to format %d: %w", have+i+1, err)
			}
		}
		return want.create(tx)
	})
	if err != nil {
		return fmt.Errorf("migrate from format %d to %d; the file is as it was: %w", have, now, err)
	}
	return nil
}

// formatBackup returns the path of the copy that is made before a file is migrated.
func formatBackup(path string, format int) string { return fmt.Sprintf("%s.v%d.bak", path, format) }

// backUpFormat copies the file. An earlier copy of that format is replaced only by a
// complete new one. Payload files are linked into a folder beside the copy, because later
// changes remove those that are no longer needed.
func backUpFormat(db *bolt.DB, blobs *Blobs, format int) error {
	path := formatBackup(db.Path(), format)
	part := path + ".part"
	err := db.View(func(tx *bolt.Tx) error {
		return errors.Join(blobs.LinkTo(path+".blobs", BlobNames(tx)), CopyStore(tx, part))
	})
	if err == nil {
		err = PutInPlace(part, path)
	}
	if err != nil {
		return errors.Join(err, Remove(part))
	}
	return nil
}

// newerFormat returns the error for a file that a newer covey has migrated. It names the copy
// from before if there is one, because going back to it is the only way for an older covey;
// nothing of the file is changed.
func newerFormat(path string, have, now int) error {
	back := ""
	copied := formatBackup(path, now)
	if _, err := os.Stat(copied); err == nil {
		back = "; its copy in the older format is " + copied
	}
	return fmt.Errorf("%w: the file has format %d, this covey knows up to %d; use a newer covey%s",
		ErrFormat, have, now, back)
}

// storedFormat reads the file's format: 0 for an empty file.
func storedFormat(db *bolt.DB) (int, error) {
	format := 0
	err := db.View(func(tx *bolt.Tx) error {
		if k, _ := tx.Cursor().First(); k == nil {
			return nil
		}
		meta := tx.Bucket([]byte(bucketMeta))
		if meta == nil {
			return fmt.Errorf("%w: it is a bbolt file, but not a covey store", ErrFormat)
		}
		var err error
		format, err = strconv.Atoi(string(meta.Get([]byte(keyFormat))))
		if err != nil || format < 1 {
			return fmt.Errorf("%w: its format is %q, which is not a number", ErrFormat, meta.Get([]byte(keyFormat)))
		}
		return nil
	})
	return format, err
}

// create makes the missing buckets and stores format and digest, all in one
// transaction, because a store without either is taken for a damaged one.
func (l layout) create(tx *bolt.Tx) error {
	for _, name := range l.buckets {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	meta := tx.Bucket([]byte(bucketMeta))
	if err := meta.Put([]byte(keyFormat), []byte(strconv.Itoa(l.format))); err != nil {
		return fmt.Errorf("store the format: %w", err)
	}
	return storeDigest(tx)
}

// PutInPlace gives a complete copy its final name, which it has after a power cut, too.
func PutInPlace(part, path string) error {
	if err := SyncFile(part); err != nil {
		return fmt.Errorf("sync the copy: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("rename the copy: %w", err)
	}
	return SyncDir(filepath.Dir(path))
}
