package workspace

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// watchingOf returns a Watching of a new folder, and what it hears.
func watchingOf(t *testing.T, names ...string) (*Watching, string, chan FileChange) {
	t.Helper()
	files := NewWatcher()
	t.Cleanup(func() { _ = files.Close() })
	root := t.TempDir()
	w := &Watching{Files: files, Dir: NewWorkdir(root), Names: func() []string { return names }}
	return w, root, make(chan FileChange, 64)
}

// hears waits for the next change.
func hears(t *testing.T, heard <-chan FileChange) FileChange {
	t.Helper()
	select {
	case c := <-heard:
		return c
	case <-time.After(time.Minute):
		t.Fatal("nobody heard of a change")
		return FileChange{}
	}
}

// TestWatchingWithoutWatcher: where files are not watched, asking is no error and does nothing.
func TestWatchingWithoutWatcher(t *testing.T) {
	w := &Watching{Dir: NewWorkdir(t.TempDir()), Names: func() []string { return []string{".env"} }}
	err := w.Begin(t.Context(), func(context.Context, FileChange) { t.Error("it heard a change") })
	if err != nil || w.Ask([]string{"x"}) != nil || w.Update() != nil || w.watch != nil {
		t.Errorf("%v, watch %v", err, w.watch)
	}
	w.End()
}

// TestAskedBeforeBegin: what was asked for before the beginning is watched from then on, and
// another question replaces it. A path that is asked for and is a name is watched once.
func TestAskedBeforeBegin(t *testing.T) {
	w, root, heard := watchingOf(t, ".env")
	if err := w.Ask([]string{"early", ".env"}); err != nil || w.watch != nil {
		t.Fatalf("before the beginning: %v, %v", err, w.watch)
	}
	if err := w.Begin(t.Context(), func(_ context.Context, c FileChange) { heard <- c }); err != nil {
		t.Fatal(err)
	}
	defer w.End()
	put(t, filepath.Join(root, "early"), "1")
	if c := hears(t, heard); c.Path != filepath.Join(root, "early") {
		t.Errorf("heard of %+v", c)
	}
	if err := w.Ask([]string{"other"}); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "early"), "22")
	put(t, filepath.Join(root, "other"), "1")
	if c := hears(t, heard); c.Path != filepath.Join(root, "other") {
		t.Errorf("heard of %+v, which is no longer asked for", c)
	}
}

// TestWatchingFollowsDirectory: after a move a relative path means a file of the new directory.
func TestWatchingFollowsDirectory(t *testing.T) {
	w, root, heard := watchingOf(t)
	if err := w.Begin(t.Context(), func(_ context.Context, c FileChange) { heard <- c }); err != nil {
		t.Fatal(err)
	}
	defer w.End()
	if err := w.Ask([]string{"notes"}); err != nil {
		t.Fatal(err)
	}
	w.Dir.Move(filepath.Join(root, "sub"))
	if err := w.Update(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "notes"), "1")
	put(t, filepath.Join(root, "sub", "notes"), "1")
	if c := hears(t, heard); c.Path != filepath.Join(root, "sub", "notes") {
		t.Errorf("heard of %+v", c)
	}
}

// TestWatchingEndsWhileAsked: members end while hooks ask. Nothing is heard after End, and
// nothing hangs.
func TestWatchingEndsWhileAsked(t *testing.T) {
	w, root, _ := watchingOf(t, ".env")
	var mu sync.Mutex
	ended := false
	err := w.Begin(t.Context(), func(_ context.Context, c FileChange) {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			t.Errorf("after the end: %+v", c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			for j := range 20 {
				if err := w.Ask([]string{string(rune('a' + i + j))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	put(t, filepath.Join(root, ".env"), "A=1")
	w.End()
	mu.Lock()
	ended = true
	mu.Unlock()
	asking.Wait()
	put(t, filepath.Join(root, ".env"), "A=2")
	if w.listen != nil || len(w.watch.paths) > 0 {
		t.Errorf("after the end it watches %q", w.watch.paths)
	}
}
