package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// maxDamaged is how many damaged files are kept aside.
const maxDamaged = 3

// Restoration tells that Open found the file damaged and put its last backup in its
// place.
type Restoration struct {
	Damage error     // what was wrong with the file
	Kept   string    // where the damaged file is now
	Backup time.Time // when the backup was made that stands in its place
	Event  uint64    // the last event that the backup knows of; later ones are lost
}

// Restored says what Open has restored; nil: the file was sound.
func (s *Store) Restored() *Restoration { return s.restored }

// examine looks a file through before it is opened, and restores it if it is damaged.
// A file that is new, or too big, or in use by somebody else, is left alone.
func (s *Store) examine(path string) error {
	if s.backups == nil {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 || info.Size() > maxVerified {
		return nil // whoever opens it says what is wrong
	}
	if _, damage := readImage(path); !errors.Is(damage, ErrCorrupt) {
		return nil
	}
	// Another covey may be writing it this moment: what was read then means nothing.
	free, err := claimFile(path)
	if err != nil {
		return fmt.Errorf("look whether somebody else has it open: %w", err)
	}
	if free == nil {
		return nil
	}
	defer free.Close()
	im, damage := readImage(path)
	if !errors.Is(damage, ErrCorrupt) {
		return nil
	}
	if s.opts.ReadOnly {
		return fmt.Errorf("%w; open it for writing to put its last backup in its place", damage)
	}
	if errors.Is(damage, errNoMeta) && unborn(im) {
		return os.Remove(path)
	}
	return s.restore(path, damage)
}

// unborn says that a file was cut off while bbolt made it: it has no more than the four
// pages that an empty one begins with, so nothing was ever acknowledged.
func unborn(im *image) bool { return len(im.data) <= 4*os.Getpagesize() }

// restore puts the newest sound backup in the place of a damaged file.
func (s *Store) restore(path string, damage error) error {
	for _, n := range s.backups.numbers() {
		from := s.backups.path(n)
		info, err := os.Stat(from)
		if err != nil {
			continue
		}
		if _, err := readImage(from); err != nil {
			damage = errors.Join(damage, fmt.Errorf("backup %s: %w", from, err))
			continue
		}
		kept, err := s.putInPlace(path, n)
		if err != nil {
			return fmt.Errorf("restore %s: %w", from, err)
		}
		s.restored = &Restoration{Damage: damage, Kept: kept, Backup: info.ModTime()}
		return nil
	}
	return fmt.Errorf("%w; there is no backup that could be restored", damage)
}

// putInPlace keeps the damaged file aside and copies a backup to where it was. The copy
// is whole before it gets the name, so a crash in between leaves one or the other.
func (s *Store) putInPlace(path string, n int) (kept string, err error) {
	kept = fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
	if err := linkOrCopy(path, kept); err != nil {
		return "", fmt.Errorf("keep the damaged file: %w", err)
	}
	part := path + ".part"
	if err := remove(part); err != nil {
		return "", fmt.Errorf("remove what an earlier try left: %w", err)
	}
	data, err := os.ReadFile(s.backups.path(n))
	if err != nil {
		return "", fmt.Errorf("read the backup: %w", err)
	}
	if err := writeSynced(part, string(data)); err != nil {
		return "", fmt.Errorf("copy the backup: %w", err)
	}
	// Payloads come first: a store that is there must not name files that are not.
	if err := s.relink(n); err != nil {
		return "", fmt.Errorf("bring back long payloads: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return "", fmt.Errorf("put the copy in place: %w", err)
	}
	return kept, errors.Join(syncDir(filepath.Dir(path)), trimDamaged(path))
}

// relink brings back the payload files that a backup needs.
func (s *Store) relink(n int) error {
	entries, err := os.ReadDir(s.backups.links(n))
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list them: %w", err)
	}
	if err := s.blobs.mkdir(); err != nil {
		return err
	}
	for _, e := range entries {
		from := filepath.Join(s.backups.links(n), e.Name())
		if err := linkOrCopy(from, filepath.Join(s.blobs.dir, e.Name())); err != nil {
			return err
		}
	}
	return syncDir(s.blobs.dir)
}

// trimDamaged keeps the newest damaged files: somebody may still want to look into them,
// and a disk that damages files must not be filled with them.
func trimDamaged(path string) error {
	list, err := filepath.Glob(globEscape(path) + ".damaged-*")
	if err != nil {
		return fmt.Errorf("list damaged files: %w", err)
	}
	slices.Sort(list)
	var errs []error
	for _, old := range list[:max(0, len(list)-maxDamaged)] {
		errs = append(errs, remove(old))
	}
	return errors.Join(errs...)
}

// globEscape makes a path mean itself in a pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// knows reads the last event that a restored store knows of.
func (s *Store) knows() error {
	return s.db.View(func(tx *bolt.Tx) error {
		s.restored.Event = readCounters(tx.Bucket([]byte(bucketMeta))).event
		return nil
	})
}

// RemoveFiles deletes the store at path with its payloads, backups and damaged files.
// Nobody may have it open.
func RemoveFiles(path, blobDir string) error {
	if blobDir == "" {
		blobDir = path + ".blobs"
	}
	errs := []error{remove(path), os.RemoveAll(blobDir), os.RemoveAll(path + backupDirSuffix)}
	list, err := filepath.Glob(globEscape(path) + ".damaged-*")
	errs = append(errs, err)
	for _, old := range list {
		errs = append(errs, remove(old))
	}
	return errors.Join(errs...)
}

// backupDirSuffix makes the default folder of backups out of a store's path.
const backupDirSuffix = ".backups"
