package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxWatched bounds the watched files of one member.
const maxWatched = 512

// Watch is one member's part of a Watcher.
type Watch struct {
	watcher *Watcher
	paths   []string // guarded by the watcher's lock

	mu      sync.Mutex
	changes []FileChange
	news    chan struct{}
}

// Watch returns a Watch without files.
func (w *Watcher) Watch() *Watch { return &Watch{watcher: w, news: make(chan struct{}, 1)} }

// Set replaces the watched files; paths are absolute. The error lists the files that
// cannot be watched; the others are watched.
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

// tell records a change. It never blocks: the changes of one file since the last one
// delivered become one.
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
