package teammate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks"
)

// maxWatched is how many files one member may have watched.
const maxWatched = 512

// Watch is one member's part in a Watcher.
type Watch struct {
	watcher *Watcher
	paths   []string // guarded by the watcher's lock

	mu      sync.Mutex
	changes []FileChange
	news    chan struct{}
}

// Watch returns a part in w that watches nothing yet.
func (w *Watcher) Watch() *Watch { return &Watch{watcher: w, news: make(chan struct{}, 1)} }

// Set has exactly these files watched; paths are absolute. What could not be
// watched is in the error, the others are. With no paths the Watch is at rest.
func (h *Watch) Set(paths []string) error {
	w := h.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	wanted := slices.Compact(slices.Sorted(slices.Values(paths)))
	if len(wanted) > maxWatched {
		errs = append(errs, fmt.Errorf("%d files are to be watched, and %d may be: the rest is left out",
			len(wanted), maxWatched))
		wanted = wanted[:maxWatched]
	}
	for _, path := range h.paths {
		if !slices.Contains(wanted, path) {
			w.remove(path, h)
		}
	}
	for _, path := range wanted {
		if !slices.Contains(h.paths, path) {
			errs = append(errs, w.add(path, h))
		}
	}
	h.paths = wanted
	return errors.Join(errs...)
}

// tell notes a change. It never blocks: of one file what all changes since the
// last that was heard of come to is one.
func (h *Watch) tell(c FileChange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.changes, func(old FileChange) bool { return old.Path == c.Path }); i >= 0 {
		switch old := h.changes[i].Kind; {
		case old == "add" && c.Kind == "change":
			c.Kind = "add"
		case old == "unlink" && c.Kind == "add":
			c.Kind = "change"
		}
		h.changes = slices.Delete(h.changes, i, i+1)
	}
	h.changes = append(h.changes, c)
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// Next waits for the next change. It fails with ctx's error when ctx ends.
func (h *Watch) Next(ctx context.Context) (FileChange, error) {
	for {
		h.mu.Lock()
		if len(h.changes) > 0 {
			c := h.changes[0]
			h.changes = slices.Delete(h.changes, 0, 1)
			h.mu.Unlock()
			return c, nil
		}
		h.mu.Unlock()
		select {
		case <-h.news:
		case <-ctx.Done():
			return FileChange{}, ctx.Err()
		}
	}
}

// watching is what a member has watched: the names that its FileChanged hooks listen to,
// in its workspace's root and in the directory that it is in, and what hooks have asked for.
type watching struct {
	mu    sync.Mutex
	asked []string // by watchPaths
	watch *Watch   // nil: nothing has been watched so far
	// listen begins to hear of changes; nil before the session and behind its end.
	// Members that watch nothing are most of a large team: they have neither a Watch
	// nor a goroutine.
	listen  func(*Watch) (cancel context.CancelFunc)
	cancel  context.CancelFunc // ends hearing of changes; nil when watch is
	running sync.WaitGroup
}

// watchFiles begins to fire FileChanged, in turns and between them, until unwatch
// is called or ctx ends.
func (t *Teammate) watchFiles(ctx context.Context) {
	if t.opts.Files == nil {
		return
	}
	t.watching.mu.Lock()
	t.watching.listen = func(watch *Watch) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		t.watching.running.Go(func() { t.hearChanges(ctx, watch) })
		return cancel
	}
	t.watching.mu.Unlock()
	t.outside().rewatch()
}

// unwatch ends what watchFiles began. No FileChanged hook runs any more when it
// returns.
func (t *Teammate) unwatch() {
	w := &t.watching
	w.mu.Lock()
	w.listen = nil // nobody waits for one that begins from here on
	watch, cancel := w.watch, w.cancel
	w.mu.Unlock()
	if watch == nil {
		return
	}
	cancel()
	w.running.Wait()
	_ = watch.Set(nil) // watching nothing cannot fail
}

// hearChanges fires FileChanged for each change until ctx ends.
func (t *Teammate) hearChanges(ctx context.Context, watch *Watch) {
	for {
		change, err := watch.Next(ctx)
		if err != nil {
			return
		}
		t.outside().fileChanged(ctx, change)
	}
}

// fileChanged tells the FileChanged hooks of one change.
func (at *scope) fileChanged(ctx context.Context, c FileChange) {
	out, err := at.fire(ctx, hooks.FileChangedInput{FilePath: c.Path, Change: c.Kind})
	if err != nil {
		if ctx.Err() == nil {
			at.warn("FileChanged hook failed: %v", err)
		}
		return
	}
	at.watchPaths(out)
}

// rewatch has those files watched that are wanted now.
func (at *scope) rewatch() {
	t := at.t
	t.watching.mu.Lock()
	defer t.watching.mu.Unlock()
	if t.watching.listen == nil {
		return
	}
	root, dir := t.opts.Workdir.Root(), t.opts.Workdir.Dir()
	var paths []string
	for _, path := range t.watching.asked {
		paths = append(paths, within(dir, path))
	}
	if t.opts.WatchNames != nil {
		for _, name := range t.opts.WatchNames() {
			paths = append(paths, within(root, name), within(dir, name))
		}
	}
	if t.watching.watch == nil {
		if len(paths) == 0 {
			return
		}
		t.watching.watch = t.opts.Files.Watch()
		t.watching.cancel = t.watching.listen(t.watching.watch)
	}
	if err := t.watching.watch.Set(paths); err != nil {
		at.warn("FileChanged: %v", err)
	}
}

// within is path as an absolute one; a relative path starts at dir.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
