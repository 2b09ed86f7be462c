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

	"github.com/coveyteam/covey/tasks/store"
)

// maxDamaged is how many damaged files are kept.
const maxDamaged = 3

// Restoration means that Restore found the file damaged and replaced it by its last
// backup plus the commits in the log.
type Restoration struct {
	Damage  error     // what was wrong with the file
	Kept    string    // where the damaged file is now; empty: there was none
	Backup  time.Time // when the backup that replaces it was made
	Commits int       // how many commits were replayed from the log
	// Missing is how many more commits the damaged file had: their changes are lost.
	// Negative: unknown.
	Missing int
	Event   uint64 // the last event in the restored store; later ones are lost
	Texts   int    // how many long texts are lost; placeholders say so
}

// Whole reports whether the restored store is identical to the lost one.
func (r *Restoration) Whole() bool { return r.Missing == 0 && r.Texts == 0 }

// Restore verifies a file before it is opened, and restores it if it is damaged. It
// returns nil if there was nothing to restore. A file that is new, too big, or in use
// by another process is left alone. The caller sets Event and Texts.
func (b *Backups) Restore() (*Restoration, error) {
	if b.opts.Keep <= 0 {
		return nil, nil
	}
	path := b.store
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		if b.opts.ReadOnly || len(b.numbers()) == 0 {
			return nil, nil // a new store
		}
		return b.restore(&store.Image{}, fmt.Errorf("%w: it is empty or missing, but has backups", store.ErrCorrupt))
	}
	if err != nil {
		return nil, nil // opening it reports the error
	}
	if _, damage := b.verify(path); !errors.Is(damage, store.ErrCorrupt) {
		return nil, nil
	}
	// Another covey may be writing it right now, which makes the result of the read
	// meaningless.
	free, err := b.claim(path)
	if err != nil {
		return nil, fmt.Errorf("check whether another process has it open: %w", err)
	}
	if free == nil {
		return nil, nil
	}
	defer free.Close()
	im, damage := b.verify(path)
	if !errors.Is(damage, store.ErrCorrupt) {
		return nil, nil
	}
	if b.opts.ReadOnly {
		return nil, fmt.Errorf("%w; open it for writing to restore its last backup", damage)
	}
	if errors.Is(damage, store.ErrNoMeta) && im.Unfinished() && len(b.numbers()) == 0 {
		return nil, os.Remove(path)
	}
	return b.restore(im, damage)
}

// claim is ClaimFile, retried until Options.LockTimeout is over: another process
// may hold the file only for a moment, to read it.
func (b *Backups) claim(path string) (*os.File, error) {
	const pause = 20 * time.Millisecond
	for until := time.Now().Add(b.opts.LockTimeout); ; time.Sleep(pause) {
		f, err := store.ClaimFile(path)
		if f != nil || err != nil || !time.Now().Before(until) {
			return f, err
		}
	}
}

// errBehind: the file is valid but lacks commits that the log has. An older copy was
// put in its place, or the disk has lost acknowledged writes.
var errBehind = errors.New("it lacks commits that its log has")

// verify checks a file, and whether the log of commits continues after its state.
func (b *Backups) verify(path string) (*store.Image, error) {
	im, done, err := store.OpenImage(path)
	if err != nil {
		return nil, err
	}
	defer done()
	if im.Size() > b.opts.Most {
		return im, ErrTooBig
	}
	damage := im.Check()
	// A newer covey may digest its entries in another way. What looks like damage here
	// must not be replaced by a backup of an older format.
	if err := im.Newer(path); err != nil {
		return im, err
	}
	if damage != nil {
		return im, fmt.Errorf("%w: %w", store.ErrCorrupt, damage)
	}
	at, known := im.State()
	if !known {
		return im, nil
	}
	n, err := b.follow(at, nil)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %w, %d of them", store.ErrCorrupt, errBehind, n)
	}
	return im, err
}

// source is a file that a store can be rebuilt from.
type source struct {
	path  string
	links string // the folder with its payload files; empty: they are in place
}

// restore replaces a damaged file by its newest valid backup plus the later commits.
// A file that is only behind its log is as good as a backup.
func (b *Backups) restore(im *store.Image, damage error) (*Restoration, error) {
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
	return nil, errors.Join(fmt.Errorf("%w; there is no backup to restore", damage), store.Remove(part))
}

// rebuild makes part a copy of a source plus the commits that continue it, and
// verifies it. If the log leads to nothing valid, it is left out.
func (b *Backups) rebuild(src source, part string, r *Restoration) (at store.State, err error) {
	info, err := os.Stat(src.path)
	if err != nil {
		return at, fmt.Errorf("look at it: %w", err)
	}
	r.Backup = info.ModTime()
	if _, err := store.ReadImage(src.path); err != nil {
		return at, err
	}
	var errs error
	for _, replay := range []bool{true, false} {
		if err := store.CopyFile(src.path, part); err != nil {
			return at, fmt.Errorf("copy it: %w", err)
		}
		r.Commits, err = 0, nil
		if replay {
			r.Commits, err = b.replay(part)
		}
		im, bad := store.ReadImage(part)
		if err = errors.Join(err, bad); err == nil {
			at, _ = im.State()
			return at, nil
		}
		errs = errors.Join(errs, err)
	}
	return at, errs
}

// replay repeats the logged commits that continue a file, each as a commit of its
// own: so the file reaches the same commit number, and the log can continue. Only the
// last commit is synced, because nobody opens the file under its temporary name.
func (b *Backups) replay(path string) (n int, err error) {
	im, err := store.ReadImage(path)
	if err != nil {
		return 0, err
	}
	at, known := im.State()
	if !known {
		return 0, nil
	}
	_, err = store.Fold(path, at, func(step func(*store.Commit) error) (err error) {
		n, err = b.follow(at, step)
		return err
	})
	return n, err
}

// putInPlace keeps the damaged file under another name and renames part to path. part
// is complete by then, so a crash in between leaves one or the other.
func (b *Backups) putInPlace(path string, src source, part string) (kept string, err error) {
	kept = fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
	switch err := store.LinkOrCopy(path, kept); {
	case errors.Is(err, fs.ErrNotExist):
		kept = ""
	case err != nil:
		return "", fmt.Errorf("keep the damaged file: %w", err)
	}
	// Payloads come first: a store must not refer to files that do not exist.
	if src.links != "" {
		if err := b.opts.Blobs.LinkFrom(src.links); err != nil {
			return "", fmt.Errorf("restore long payloads: %w", err)
		}
	}
	if err := os.Rename(part, path); err != nil {
		return "", fmt.Errorf("put the copy in place: %w", err)
	}
	return kept, errors.Join(store.SyncDir(filepath.Dir(path)), trimDamaged(path))
}

// trimDamaged keeps only the newest damaged files: somebody may want to inspect them,
// but a disk that damages files must not fill up with them.
func trimDamaged(path string) error {
	list, err := filepath.Glob(globEscape(path) + ".damaged-*")
	if err != nil {
		return fmt.Errorf("list damaged files: %w", err)
	}
	slices.Sort(list)
	var errs []error
	for _, old := range list[:max(0, len(list)-maxDamaged)] {
		errs = append(errs, store.Remove(old))
	}
	return errors.Join(errs...)
}

// globEscape escapes a path for use in a pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// RemoveFiles deletes the store at path with its payloads, backups, damaged files, and
// copies in older formats.
// No process may have it open.
func RemoveFiles(path, blobDir string) error {
	if blobDir == "" {
		blobDir = path + ".blobs"
	}
	errs := []error{store.Remove(path), os.RemoveAll(blobDir), os.RemoveAll(path + dirSuffix)}
	for _, pattern := range []string{".damaged-*", ".v*.bak*"} {
		list, err := filepath.Glob(globEscape(path) + pattern)
		errs = append(errs, err)
		for _, old := range list {
			errs = append(errs, os.RemoveAll(old))
		}
	}
	return errors.Join(errs...)
}

// dirSuffix is appended to a store's path for the default folder of backups.
const dirSuffix = ".backups"
