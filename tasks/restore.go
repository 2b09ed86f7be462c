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
// place, with the commits since that their log has.
type Restoration struct {
	Damage  error     // what was wrong with the file
	Kept    string    // where the damaged file is now; empty: there was none
	Backup  time.Time // when the backup was made that stands in its place
	Commits int       // how many were made again from their log
	// Missing is how many commits the damaged file had beside those: what they changed is
	// lost. Negative: the file does not say.
	Missing int
	Event   uint64 // the last event that the store knows of now; later ones are lost
	Texts   int    // how many long texts are gone; what stands in their place says so
}

// Whole says that the store is again what it was, bit by bit.
func (r *Restoration) Whole() bool { return r.Missing == 0 && r.Texts == 0 }

// Restored says what Open has restored; nil: the file was sound.
func (s *Store) Restored() *Restoration { return s.restored }

// examine looks a file through before it is opened, and restores it if it is damaged.
// A file that is new, or too big, or in use by somebody else, is left alone.
func (s *Store) examine(path string) error {
	if s.backups == nil {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		if s.opts.ReadOnly || len(s.backups.numbers()) == 0 {
			return nil // a new one
		}
		return s.restore(path, &image{}, fmt.Errorf("%w: it is empty or gone, and there are backups of it", ErrCorrupt))
	}
	if err != nil {
		return nil // whoever opens it says what is wrong
	}
	if _, damage := s.look(path); !errors.Is(damage, ErrCorrupt) {
		return nil
	}
	// Another covey may be writing it this moment: what was read then means nothing.
	free, err := s.claim(path)
	if err != nil {
		return fmt.Errorf("look whether somebody else has it open: %w", err)
	}
	if free == nil {
		return nil
	}
	defer free.Close()
	im, damage := s.look(path)
	if !errors.Is(damage, ErrCorrupt) {
		return nil
	}
	if s.opts.ReadOnly {
		return fmt.Errorf("%w; open it for writing to put its last backup in its place", damage)
	}
	if errors.Is(damage, errNoMeta) && unborn(im) && len(s.backups.numbers()) == 0 {
		return os.Remove(path)
	}
	return s.restore(path, im, damage)
}

// claim is claimFile, tried until Options.LockTimeout is over: who has the file may only
// be reading it.
func (s *Store) claim(path string) (*os.File, error) {
	const pause = 20 * time.Millisecond
	for until := time.Now().Add(s.opts.LockTimeout); ; time.Sleep(pause) {
		f, err := claimFile(path)
		if f != nil || err != nil || !time.Now().Before(until) {
			return f, err
		}
	}
}

// errBehind: a file that is sound and lacks commits that were made on it. An older copy
// was put in its place, or the disk has lost what it said it had.
var errBehind = errors.New("it lacks commits that its log has")

// look looks through a file, and whether the log of commits goes on behind it.
func (s *Store) look(path string) (*image, error) {
	im, done, err := openImage(path)
	if err != nil {
		return nil, err
	}
	defer done()
	if meta, err := im.meta(); err == nil && int64(meta.high)*int64(meta.pageSize) > s.opts.most {
		return im, errTooBig
	}
	if err := im.check(); err != nil {
		return im, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	at, known := im.state()
	if !known {
		return im, nil
	}
	n, err := s.backups.follow(at, nil)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %w, %d of them", ErrCorrupt, errBehind, n)
	}
	return im, err
}

// unborn says that a file was cut off while bbolt made it: it has no more than the four
// pages that an empty one begins with, so nothing was ever acknowledged.
func unborn(im *image) bool { return im.length <= 4*int64(os.Getpagesize()) }

// source is what a store can be made of again.
type source struct {
	path  string
	links string // the folder with its payload files; empty: they are where they belong
}

// restore puts a store in the place of a damaged file: its newest sound backup with the
// commits since. A file that is only behind its log is as good as a backup.
func (s *Store) restore(path string, im *image, damage error) error {
	var from []source
	if errors.Is(damage, errBehind) {
		from = append(from, source{path: path})
	}
	for _, n := range s.backups.numbers() {
		from = append(from, source{s.backups.path(n), s.backups.links(n)})
	}
	part := path + ".part"
	for _, src := range from {
		r := &Restoration{Missing: -1}
		at, err := s.rebuild(src, part, r)
		if err != nil {
			damage = errors.Join(damage, fmt.Errorf("backup %s: %w", src.path, err))
			continue
		}
		r.Damage = damage
		if im.txid > 0 {
			r.Missing = int(max(im.txid, at.transaction) - at.transaction)
		}
		if r.Kept, err = s.putInPlace(path, src, part); err != nil {
			return fmt.Errorf("restore %s: %w", src.path, err)
		}
		s.restored = r
		return nil
	}
	return errors.Join(fmt.Errorf("%w; there is no backup that could be restored", damage), remove(part))
}

// rebuild makes part a copy of a source with the commits that follow on it, and looks it
// through. A log that leads to nothing sound is left out.
func (s *Store) rebuild(src source, part string, r *Restoration) (at commitState, err error) {
	info, err := os.Stat(src.path)
	if err != nil {
		return at, err
	}
	r.Backup = info.ModTime()
	if _, err := readImage(src.path); err != nil {
		return at, err
	}
	var errs error
	for _, again := range []bool{true, false} {
		if err := copyFile(src.path, part); err != nil {
			return at, fmt.Errorf("copy it: %w", err)
		}
		r.Commits, err = 0, nil
		if again {
			r.Commits, err = s.again(part)
		}
		im, bad := readImage(part)
		if err = errors.Join(err, bad); err == nil {
			at, _ = im.state()
			return at, nil
		}
		errs = errors.Join(errs, err)
	}
	return at, errs
}

// again makes the commits in the log again that follow on what a file holds, each as a
// commit of its own: so the file comes to the same number, and the log goes on from there.
// Only the last one is synced, for the file has no name yet that anybody would open.
func (s *Store) again(path string) (n int, err error) {
	im, err := readImage(path)
	if err != nil {
		return 0, err
	}
	at, known := im.state()
	if !known {
		return 0, nil
	}
	db, err := openBolt(path, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return 0, err
	}
	sum := at.sum
	n, err = s.backups.follow(at, func(c *commitRecord) error {
		return db.Update(func(tx *bolt.Tx) (err error) {
			sum, err = c.apply(tx, sum)
			return err
		})
	})
	return n, errors.Join(err, db.Sync(), db.Close())
}

// putInPlace keeps the damaged file aside and moves what is to be there instead to where
// it was: that is whole before it gets the name, so a crash in between leaves one or the
// other.
func (s *Store) putInPlace(path string, src source, part string) (kept string, err error) {
	kept = fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
	switch err := linkOrCopy(path, kept); {
	case errors.Is(err, fs.ErrNotExist):
		kept = ""
	case err != nil:
		return "", fmt.Errorf("keep the damaged file: %w", err)
	}
	// Payloads come first: a store that is there must not name files that are not.
	if src.links != "" {
		if err := s.relink(src.links); err != nil {
			return "", fmt.Errorf("bring back long payloads: %w", err)
		}
	}
	if err := os.Rename(part, path); err != nil {
		return "", fmt.Errorf("put the copy in place: %w", err)
	}
	return kept, errors.Join(syncDir(filepath.Dir(path)), trimDamaged(path))
}

// relink brings back the payload files that a backup needs.
func (s *Store) relink(dir string) error {
	entries, err := os.ReadDir(dir)
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
		if err := linkOrCopy(filepath.Join(dir, e.Name()), filepath.Join(s.blobs.dir, e.Name())); err != nil {
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

// takeStock finds out what a restored store knows and lacks. A payload file that is gone
// is replaced by one that says so: a store must not stay shut for a text.
func (s *Store) takeStock() error {
	lost := map[string]int64{}
	err := s.db.View(func(tx *bolt.Tx) error {
		s.restored.Event = readCounters(bucketOf(tx, bucketMeta)).event
		c := &checker{reader: reader{tx: tx, files: s.blobs}, want: map[string]map[string]bool{}, lost: lost}
		if err := c.run(); err != nil && !errors.Is(err, errBlobGone) {
			return err
		}
		return nil
	})
	for name, size := range lost {
		err = errors.Join(err, s.blobs.standIn(name, size))
	}
	s.restored.Texts = len(lost)
	return err
}

// standIn makes a payload file that says that the payload is lost. It is text and JSON
// alike, and as long as what it stands for, since readers look at that.
func (b *blobs) standIn(name string, size int64) error {
	const says = `"(covey: this text was lost when the damaged store was restored)"`
	if err := b.mkdir(); err != nil {
		return err
	}
	text := says + strings.Repeat(" ", int(max(0, size-int64(len(says)))))
	return writeSynced(filepath.Join(b.dir, filepath.Base(name)), text)
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
