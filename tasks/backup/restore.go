package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/tasks/kv"

	bolt "go.etcd.io/bbolt"
)

// maxDamaged is how many damaged files are kept aside.
const maxDamaged = 3

// Restoration tells that Restore found the file damaged and put its last backup in its
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

// Restore looks a file through before it is opened, and restores it if it is damaged.
// It gives nil for a file that needs nothing. A file that is new, or too big, or in use
// by somebody else, is left alone. Event and Texts are for the caller to find out.
func (b *Keeper) Restore() (*Restoration, error) {
	if b.opts.Keep <= 0 {
		return nil, nil
	}
	path := b.store
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		if b.opts.ReadOnly || len(b.numbers()) == 0 {
			return nil, nil // a new one
		}
		return b.restore(&kv.Image{}, fmt.Errorf("%w: it is empty or gone, and there are backups of it", kv.ErrCorrupt))
	}
	if err != nil {
		return nil, nil // whoever opens it says what is wrong
	}
	if _, damage := b.look(path); !errors.Is(damage, kv.ErrCorrupt) {
		return nil, nil
	}
	// Another covey may be writing it this moment: what was read then means nothing.
	free, err := b.claim(path)
	if err != nil {
		return nil, fmt.Errorf("look whether somebody else has it open: %w", err)
	}
	if free == nil {
		return nil, nil
	}
	defer free.Close()
	im, damage := b.look(path)
	if !errors.Is(damage, kv.ErrCorrupt) {
		return nil, nil
	}
	if b.opts.ReadOnly {
		return nil, fmt.Errorf("%w; open it for writing to put its last backup in its place", damage)
	}
	if errors.Is(damage, kv.ErrNoMeta) && im.Unborn() && len(b.numbers()) == 0 {
		return nil, os.Remove(path)
	}
	return b.restore(im, damage)
}

// claim is kv.ClaimFile, tried until Options.LockTimeout is over: who has the file may only
// be reading it.
func (b *Keeper) claim(path string) (*os.File, error) {
	const pause = 20 * time.Millisecond
	for until := time.Now().Add(b.opts.LockTimeout); ; time.Sleep(pause) {
		f, err := kv.ClaimFile(path)
		if f != nil || err != nil || !time.Now().Before(until) {
			return f, err
		}
	}
}

// errBehind: a file that is sound and lacks commits that were made on it. An older copy
// was put in its place, or the disk has lost what it said it had.
var errBehind = errors.New("it lacks commits that its log has")

// look looks through a file, and whether the log of commits goes on behind it.
func (b *Keeper) look(path string) (*kv.Image, error) {
	im, done, err := kv.OpenImage(path)
	if err != nil {
		return nil, err
	}
	defer done()
	if im.Size() > b.opts.Most {
		return im, ErrTooBig
	}
	if err := im.Check(); err != nil {
		return im, fmt.Errorf("%w: %w", kv.ErrCorrupt, err)
	}
	at, known := im.State()
	if !known {
		return im, nil
	}
	n, err := b.follow(at, nil)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %w, %d of them", kv.ErrCorrupt, errBehind, n)
	}
	return im, err
}

// source is what a store can be made of again.
type source struct {
	path  string
	links string // the folder with its payload files; empty: they are where they belong
}

// restore puts a store in the place of a damaged file: its newest sound backup with the
// commits since. A file that is only behind its log is as good as a backup.
func (b *Keeper) restore(im *kv.Image, damage error) (*Restoration, error) {
	var from []source
	if errors.Is(damage, errBehind) {
		from = append(from, source{path: b.store})
	}
	for _, n := range b.numbers() {
		from = append(from, source{b.path(n), b.links(n)})
	}
	path, part := b.store, b.store+".part"
	for _, src := range from {
		r := &Restoration{Missing: -1}
		at, err := b.rebuild(src, part, r)
		if err != nil {
			damage = errors.Join(damage, fmt.Errorf("backup %s: %w", src.path, err))
			continue
		}
		r.Damage = damage
		if im.Transaction() > 0 {
			r.Missing = int(max(im.Transaction(), at.Transaction) - at.Transaction)
		}
		if r.Kept, err = b.putInPlace(path, src, part); err != nil {
			return nil, fmt.Errorf("restore %s: %w", src.path, err)
		}
		return r, nil
	}
	return nil, errors.Join(fmt.Errorf("%w; there is no backup that could be restored", damage), kv.Remove(part))
}

// rebuild makes part a copy of a source with the commits that follow on it, and looks it
// through. A log that leads to nothing sound is left out.
func (b *Keeper) rebuild(src source, part string, r *Restoration) (at kv.State, err error) {
	info, err := os.Stat(src.path)
	if err != nil {
		return at, err
	}
	r.Backup = info.ModTime()
	if _, err := kv.ReadImage(src.path); err != nil {
		return at, err
	}
	var errs error
	for _, again := range []bool{true, false} {
		if err := kv.CopyFile(src.path, part); err != nil {
			return at, fmt.Errorf("copy it: %w", err)
		}
		r.Commits, err = 0, nil
		if again {
			r.Commits, err = b.again(part)
		}
		im, bad := kv.ReadImage(part)
		if err = errors.Join(err, bad); err == nil {
			at, _ = im.State()
			return at, nil
		}
		errs = errors.Join(errs, err)
	}
	return at, errs
}

// again makes the commits in the log again that follow on what a file holds, each as a
// commit of its own: so the file comes to the same number, and the log goes on from there.
// Only the last one is synced, for the file has no name yet that anybody would open.
func (b *Keeper) again(path string) (n int, err error) {
	im, err := kv.ReadImage(path)
	if err != nil {
		return 0, err
	}
	at, known := im.State()
	if !known {
		return 0, nil
	}
	db, err := kv.OpenBolt(path, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return 0, err
	}
	sum := at.Sum
	n, err = b.follow(at, func(c *kv.Commit) error {
		return db.Update(func(tx *bolt.Tx) (err error) {
			sum, err = c.Apply(tx, sum)
			return err
		})
	})
	return n, errors.Join(err, db.Sync(), db.Close())
}

// putInPlace keeps the damaged file aside and moves what is to be there instead to where
// it was: that is whole before it gets the name, so a crash in between leaves one or the
// other.
func (b *Keeper) putInPlace(path string, src source, part string) (kept string, err error) {
	kept = fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
	switch err := kv.LinkOrCopy(path, kept); {
	case errors.Is(err, fs.ErrNotExist):
		kept = ""
	case err != nil:
		return "", fmt.Errorf("keep the damaged file: %w", err)
	}
	// Payloads come first: a store that is there must not name files that are not.
	if src.links != "" {
		if err := b.opts.Blobs.LinkFrom(src.links); err != nil {
			return "", fmt.Errorf("bring back long payloads: %w", err)
		}
	}
	if err := os.Rename(part, path); err != nil {
		return "", fmt.Errorf("put the copy in place: %w", err)
	}
	return kept, errors.Join(kv.SyncDir(filepath.Dir(path)), trimDamaged(path))
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
		errs = append(errs, kv.Remove(old))
	}
	return errors.Join(errs...)
}

// globEscape makes a path mean itself in a pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// RemoveFiles deletes the store at path with its payloads, backups and damaged files.
// Nobody may have it open.
func RemoveFiles(path, blobDir string) error {
	if blobDir == "" {
		blobDir = path + ".blobs"
	}
	errs := []error{kv.Remove(path), os.RemoveAll(blobDir), os.RemoveAll(path + dirSuffix)}
	list, err := filepath.Glob(globEscape(path) + ".damaged-*")
	errs = append(errs, err)
	for _, old := range list {
		errs = append(errs, kv.Remove(old))
	}
	return errors.Join(errs...)
}

// dirSuffix makes the default folder of backups out of a store's path.
const dirSuffix = ".backups"
