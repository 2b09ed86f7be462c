package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watcher watches files for the members of a team, with one handle of the
// system for all of them, which is opened when the first file is to be watched.
//
// The folders of the files are what is watched, so that a file may come and go,
// and editors that put a new file in its place are seen. Of several events
// close together one change is made.
type Watcher struct {
	settle time.Duration // how long a file has to be quiet; tests shorten it

	mu      sync.Mutex
	system  *fsnotify.Watcher // nil until something is to be watched
	files   map[string]*watchedFile
	above   map[string]int // folders on the way to watched files -> how many
	closed  bool
	running sync.WaitGroup
}

// watchedFile is a file that somebody wants watched.
type watchedFile struct {
	watches map[*Watch]bool
	before  os.FileInfo // as it was when last looked at; nil: not there
	touched bool        // something wrote to it since
	due     time.Time   // when it is looked at next; zero: nothing happened
	latest  time.Time   // no later than this
}

// FileChange is a change of a watched file.
type FileChange struct {
	Path string // absolute
	Kind string // change, add or unlink
}

// The time a file has to be quiet before its change counts, and after which it
// counts all the same.
const (
	settleTime  = 100 * time.Millisecond
	settleTimes = 10
)

// NewWatcher returns a Watcher, which has to be closed.
func NewWatcher() *Watcher {
	return &Watcher{settle: settleTime, files: map[string]*watchedFile{}, above: map[string]int{}}
}

// Close ends all watching; twice is fine. No Watch hears anything after it.
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

// add has path watched for watch; w.mu is held.
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

// open opens the system's handle and starts to read from it; w.mu is held.
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

// reach watches the folder of path or, where that is not there, the nearest
// above it, which will tell when it comes; w.mu is held.
func (w *Watcher) reach(path string) error {
	if w.system == nil {
		return nil
	}
	for dir, below := filepath.Dir(path), path; ; {
		err := w.system.Add(dir)
		switch {
		case err == nil && below != path && look(below) != nil:
			// It came before the folder above it was watched, which then tells nothing.
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

// remove ends watching path for watch; w.mu is held.
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

// run takes in the system's events until its handle is closed.
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
		case _, ok := <-system.Errors: // events were lost: look at everything
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

// event notes what one event of the system is about.
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
	// A folder on the way has come or gone.
	for path, f := range w.files {
		if Contains(e.Name, path) {
			_ = w.reach(path) // what cannot be watched now is tried with the next event
			f.wait(now, w.settle)
		}
	}
}

// touchAll has every file looked at.
func (w *Watcher) touchAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.files {
		f.wait(time.Now(), w.settle)
	}
}

// wait puts off looking at a file until it has been quiet.
func (f *watchedFile) wait(now time.Time, settle time.Duration) {
	if f.due.IsZero() {
		f.latest = now.Add(settleTimes * settle)
	}
	f.due = now.Add(settle)
	if f.due.After(f.latest) {
		f.due = f.latest
	}
}

// next is how long it is until some file is due.
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

// lookAtDue tells of the changes of the files that have been quiet, those that
// have been for longer first.
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

// look finds out what became of a file since it was last looked at; "" if
// nothing did.
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

// look is a file as it is; nil: not there.
func look(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}
