package workspace

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// TestWatching: who has nothing to watch has no part in the Watcher, names are watched in the root
// and in the directory, paths in the directory, and after the end nothing is heard.
func TestWatching(t *testing.T) {
	files := NewWatcher()
	t.Cleanup(func() { _ = files.Close() })
	root := t.TempDir()
	var names []string
	w := Watching{Files: files, Dir: NewWorkdir(root), Names: func() []string { return names }}
	heard := make(chan FileChange, 8)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(w.Update())
	do(w.Begin(t.Context(), func(_ context.Context, c FileChange) { heard <- c }))
	if w.watch != nil || w.cancel != nil {
		t.Error("it watches nothing, and has a Watch")
	}
	names = []string{".env"}
	w.Dir.Move(filepath.Join(root, "sub"))
	do(w.Ask([]string{"asked"}))
	for _, name := range []string{".env", "sub/.env", "sub/asked"} {
		put(t, filepath.Join(root, name), "A=1")
		select {
		case c := <-heard:
			if c.Path != filepath.Join(root, name) || c.Kind != "add" {
				t.Errorf("%s: heard of %+v", name, c)
			}
		case <-time.After(time.Minute):
			t.Fatalf("nobody heard of %s", name)
		}
	}
	w.End()
	w.End()
	do(w.Ask([]string{"late"}))
	if w.listen != nil || len(w.watch.paths) > 0 {
		t.Errorf("after its end it watches %q", w.watch.paths)
	}
}
