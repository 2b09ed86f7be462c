package teammate

import (
	"context"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/workspace"
)

// watching is the set of files that a member watches: the names that its FileChanged
// hooks match, in the root of its workspace and in its directory, and the paths that hooks
// have asked for.
type watching struct {
	mu    sync.Mutex
	asked []string         // by watchPaths
	watch *workspace.Watch // nil: nothing has been watched so far
	// listen starts a goroutine that handles changes; nil before the session and after it.
	// Most members of a large team watch nothing and have neither a Watch nor a
	// goroutine.
	listen  func(*workspace.Watch) (cancel context.CancelFunc)
	cancel  context.CancelFunc // ends the goroutine; nil when watch is
	running sync.WaitGroup
}

// watchFiles makes FileChanged fire, during turns and between them, until unwatch is
// called or ctx ends.
func (t *Teammate) watchFiles(ctx context.Context) {
	if t.opts.Files.Watcher == nil {
		return
	}
	t.watching.mu.Lock()
	t.watching.listen = func(watch *workspace.Watch) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		t.watching.running.Go(func() { t.hearChanges(ctx, watch) })
		return cancel
	}
	t.watching.mu.Unlock()
	t.outside().rewatch()
}

// unwatch ends what watchFiles began. No FileChanged hook runs after it returns.
func (t *Teammate) unwatch() {
	w := &t.watching
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

// hearChanges fires FileChanged for each change until ctx ends.
func (t *Teammate) hearChanges(ctx context.Context, watch *workspace.Watch) {
	for {
		change, err := watch.Next(ctx)
		if err != nil {
			return
		}
		t.outside().fileChanged(ctx, change)
	}
}

// fileChanged runs the FileChanged hooks for one change.
func (at *scope) fileChanged(ctx context.Context, c workspace.FileChange) {
	if out, ok := at.try(ctx, hooks.FileChangedInput{FilePath: c.Path, Change: c.Kind}); ok {
		at.watchPaths(out)
	}
}

// rewatch updates the set of watched files.
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
		paths = append(paths, workspace.Within(dir, path))
	}
	if t.opts.Files.Names != nil {
		for _, name := range t.opts.Files.Names() {
			paths = append(paths, workspace.Within(root, name), workspace.Within(dir, name))
		}
	}
	if t.watching.watch == nil {
		if len(paths) == 0 {
			return
		}
		t.watching.watch = t.opts.Files.Watcher.Watch()
		t.watching.cancel = t.watching.listen(t.watching.watch)
	}
	if err := t.watching.watch.Set(paths); err != nil {
		at.warn("FileChanged: %v", err)
	}
}
