package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/coveyteam/covey/hooks/texts"
)

// Watcher watches files for the members of a team, with one system handle for all of
// them, which is opened for the first file.
//
// It watches the folders of the files, so that files may come and go, and sees editors
// that replace files. Events in quick succession become one change.
type Watcher struct {
	settle time.Duration // how long a file has to be quiet; tests shorten it

	mu      sync.Mutex
	system  *fsnotify.Watcher // nil until the first file
	files   map[string]*watchedFile
	above   map[string]int // folders on the way to watched files -> how many
	closed  bool
	running sync.WaitGroup
}

// watchedFile is a file that at least one Watch watches.
type watchedFile struct {
	watches map[*Watch]bool
	before  os.FileInfo // state at the last check; nil: missing
	touched bool        // written since
	due     time.Time   // time of the next check; zero: no event
	latest  time.Time   // bound for due
}

// FileChange is a change of a watched file.
type FileChange struct {
	Path string // absolute
	Kind string // change, add or unlink
}

// How long a file must be quiet before its change is reported, and after which it is
// reported anyway.
const (
	settleTime  = 100 * time.Millisecond
	settleTimes = 10
)

// NewWatcher returns a Watcher. The caller must close it.
func NewWatcher() *Watcher {
	return &Watcher{settle: settleTime, files: map[string]*watchedFile{}, above: map[string]int{}}
}

// Close ends all watching; it may be called twice. No Watch gets a change after it.
func (w *Watcher) Close() error {
	w.mu.Lock()
	w.closed = true
	system := w.system
	w.system = nil
	w.mu.Unlock()
	if system == nil {
		return nil
	}
	err := system.Close()
	w.running.Wait()
	return err
}

// add watches path for watch; w.mu must be held.
func (w *Watcher) add(path string, watch *Watch) error {
	if err := w.open(); err != nil {
		return err
	}
	f := w.files[path]
	if f == nil {
		f = &watchedFile{watches: map[*Watch]bool{}, before: look(path)}
		w.files[path] = f
		for _, dir := range downTo("/", filepath.Dir(path)) {
			w.above[dir]++
		}
	}
	f.watches[watch] = true
	return w.reach(path)
}

// open opens the system handle and starts to read from it; w.mu must be held.
func (w *Watcher) open() error {
	if w.system != nil || w.closed {
		return nil
	}
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("files cannot be watched: %w", err)
	}
	w.system = system
	w.running.Go(func() { w.run(system) })
	return nil
}

// reach watches the folder of path, or its nearest existing parent, which reports when
// the folder appears; w.mu must be held.
func (w *Watcher) reach(path string) error {
	if w.system == nil {
		return nil
	}
	for dir, below := filepath.Dir(path), path; ; {
		err := w.system.Add(dir)
		switch {
		case err == nil && below != path && look(below) != nil:
			// It appeared before its parent was watched, so there is no event for it.
			dir, below = filepath.Dir(path), path
		case err == nil:
			return nil
		case dir == filepath.Dir(dir) || !os.IsNotExist(err):
			return fmt.Errorf("%s cannot be watched: %w", dir, err)
		default:
			dir, below = filepath.Dir(dir), dir
		}
	}
}

// remove stops watching path for watch; w.mu must be held.
func (w *Watcher) remove(path string, watch *Watch) {
	f := w.files[path]
	if f == nil {
		return
	}
	delete(f.watches, watch)
	if len(f.watches) > 0 {
		return
	}
	delete(w.files, path)
	for _, dir := range downTo("/", filepath.Dir(path)) {
		if w.above[dir]--; w.above[dir] == 0 {
			delete(w.above, dir)
			if w.system != nil {
				_ = w.system.Remove(dir) // it is in order if it was not watched itself
			}
		}
	}
}

// run processes the system's events until its handle is closed.
func (w *Watcher) run(system *fsnotify.Watcher) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-system.Events:
			if !ok {
				return
			}
			w.event(e)
		case _, ok := <-system.Errors: // events were lost: check everything
			if !ok {
				return
			}
			w.touchAll()
		case <-timer.C:
			w.lookAtDue(time.Now())
		}
		timer.Reset(w.next(time.Now()))
	}
}

// event processes one event of the system.
func (w *Watcher) event(e fsnotify.Event) {
	if e.Op == fsnotify.Chmod {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if f := w.files[e.Name]; f != nil {
		f.touched = true
		f.wait(now, w.settle)
	}
	if w.above[e.Name] == 0 {
		return
	}
	// A parent folder has come or gone.
	for path, f := range w.files {
		if texts.Within(e.Name, path) {
			_ = w.reach(path) // an error is tried again with the next event
			f.wait(now, w.settle)
		}
	}
}

// touchAll schedules a check of every file.
func (w *Watcher) touchAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.files {
		f.wait(time.Now(), w.settle)
	}
}

// wait delays the check of a file until it has been quiet.
func (f *watchedFile) wait(now time.Time, settle time.Duration) {
	if f.due.IsZero() {
		f.latest = now.Add(settleTimes * settle)
	}
	f.due = now.Add(settle)
	if f.due.After(f.latest) {
		f.due = f.latest
	}
}

// next returns the time until the next file is due.
func (w *Watcher) next(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := time.Hour
	for _, f := range w.files {
		if !f.due.IsZero() {
			wait = min(wait, max(f.due.Sub(now), 0))
		}
	}
	return wait
}

// lookAtDue reports the changes of the files that are due, in order of time.
func (w *Watcher) lookAtDue(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due []string
	for path, f := range w.files {
		if !f.due.IsZero() && !f.due.After(now) {
			due = append(due, path)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return w.files[a].due.Compare(w.files[b].due) })
	for _, path := range due {
		f := w.files[path]
		if kind := f.look(path); kind != "" {
			for watch := range f.watches {
				watch.tell(FileChange{Path: path, Kind: kind})
			}
		}
	}
}

// look returns how a file has changed since the last check; "" if it has not.
func (f *watchedFile) look(path string) (kind string) {
	before, after, touched := f.before, look(path), f.touched
	f.before, f.touched, f.due = after, false, time.Time{}
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil:
		return "add"
	case after == nil:
		return "unlink"
	case touched, !os.SameFile(before, after), before.Size() != after.Size(), !before.ModTime().Equal(after.ModTime()):
		return "change"
	}
	return ""
}

// look returns the state of a file; nil: missing.
func look(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}
