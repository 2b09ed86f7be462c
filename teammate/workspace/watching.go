package workspace

import (
	"context"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
)

// Watching is the set of files that a member watches: Names in the root of its workspace and in
// its directory, and the paths that it was asked for. Most members of a large team watch nothing,
// and have neither a Watch nor a goroutine. It is safe for concurrent use.
type Watching struct {
	Files *Watcher // nil: nothing is watched
	Dir   *Workdir
	Names func() []string // optional

	mu    sync.Mutex
	asked []string
	watch *Watch // nil: nothing has been watched so far
	// listen starts a goroutine that hears changes; nil before Begin and after End.
	listen  func(*Watch) (cancel context.CancelFunc)
	cancel  context.CancelFunc // ends the goroutine; nil when watch is
	running sync.WaitGroup
}

// Begin calls heard for each change until End is called or ctx ends. Its error lists the files that
// cannot be watched.
func (w *Watching) Begin(ctx context.Context, heard func(context.Context, FileChange)) error {
	if w.Files == nil {
		return nil
	}
	w.mu.Lock()
	w.listen = func(watch *Watch) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		w.running.Go(func() { watch.hear(ctx, heard) })
		return cancel
	}
	w.mu.Unlock()
	return w.Update()
}

// hear calls heard for each change until ctx ends.
func (h *Watch) hear(ctx context.Context, heard func(context.Context, FileChange)) {
	for {
		change, err := h.Next(ctx)
		if err != nil {
			return
		}
		heard(ctx, change)
	}
}

// End ends what Begin began. No change is heard after it returns.
func (w *Watching) End() {
	w.mu.Lock()
	w.listen = nil // nothing would wait for a goroutine that starts now
	watch, cancel := w.watch, w.cancel
	w.mu.Unlock()
	if watch == nil {
		return
	}
	cancel()
	w.running.Wait()
	_ = watch.Set(nil) // watching nothing cannot fail
}

// Ask replaces the paths that are watched in addition to Names, relative to the directory. Its
// error is that of Update.
func (w *Watching) Ask(paths []string) error {
	w.mu.Lock()
	w.asked = paths
	w.mu.Unlock()
	return w.Update()
}

// Update watches what the directory and Names say now. Its error lists the files that cannot be
// watched.
func (w *Watching) Update() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listen == nil {
		return nil
	}
	root, dir := w.Dir.Root(), w.Dir.Dir()
	var paths []string
	for _, path := range w.asked {
		paths = append(paths, texts.Absolute(dir, path))
	}
	if w.Names != nil {
		for _, name := range w.Names() {
			paths = append(paths, texts.Absolute(root, name), texts.Absolute(dir, name))
		}
	}
	if w.watch == nil {
		if len(paths) == 0 {
			return nil
		}
		w.watch = w.Files.Watch()
		w.cancel = w.listen(w.watch)
	}
	return w.watch.Set(paths)
}
