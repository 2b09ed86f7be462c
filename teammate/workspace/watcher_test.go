package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// watched starts a Watch over paths below a new folder.
func watched(t *testing.T, names ...string) (dir string, watch *Watch) {
	t.Helper()
	dir = t.TempDir()
	w := NewWatcher()
	w.settle = 300 * time.Millisecond // a busy machine may stop between two writes
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil { // twice is fine
			t.Error(err)
		}
	})
	watch = w.Watch()
	setWatched(t, watch, dir, names...)
	return dir, watch
}

func setWatched(t *testing.T, watch *Watch, dir string, names ...string) {
	t.Helper()
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	if err := watch.Set(paths); err != nil {
		t.Fatal(err)
	}
}

// next is the next change, by its kind and the file's name.
func next(t *testing.T, watch *Watch) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := watch.Next(ctx)
	if err != nil {
		t.Fatalf("no change came: %v", err)
	}
	return c.Kind + " " + filepath.Base(c.Path)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file comes, is written to, is replaced as editors do it, and goes. Its
// neighbours are nobody's business.
func TestWatcherTellsChanges(t *testing.T) {
	t.Parallel()
	dir, watch := watched(t, "a")
	path := filepath.Join(dir, "a")
	put(t, path, "1")
	equal(t, "made", next(t, watch), "add a")
	put(t, filepath.Join(dir, "b"), "1")
	put(t, path, "2")
	equal(t, "written", next(t, watch), "change a")
	put(t, path+".swp", "3")
	if err := os.Rename(path+".swp", path); err != nil {
		t.Fatal(err)
	}
	equal(t, "replaced", next(t, watch), "change a")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	equal(t, "removed", next(t, watch), "unlink a")
}

// Many writes close together are one change.
func TestWatcherPutsTogether(t *testing.T) {
	t.Parallel()
	dir, watch := watched(t, "a", "z")
	for i := range 50 {
		put(t, filepath.Join(dir, "a"), fmt.Sprint(i))
	}
	put(t, filepath.Join(dir, "z"), "last")
	seen := map[string]int{}
	for seen["add z"] == 0 {
		seen[next(t, watch)]++
	}
	if seen["add a"] != 1 || seen["change a"] > 10 {
		t.Errorf("50 writes came as %v", seen)
	}
}

// A folder that is made later, taken away and made again is watched all the same.
func TestWatcherFollowsFolders(t *testing.T) {
	t.Parallel()
	dir, watch := watched(t, "x/y/a")
	path := filepath.Join(dir, "x", "y", "a")
	for range 2 {
		put(t, path, "1")
		equal(t, "made", next(t, watch), "add a")
		put(t, path, "2")
		equal(t, "written", next(t, watch), "change a")
		if err := os.RemoveAll(filepath.Join(dir, "x")); err != nil {
			t.Fatal(err)
		}
		equal(t, "gone", next(t, watch), "unlink a")
	}
}

// What is watched can be changed and changed back, and two who watch the same
// file do not get in each other's way.
func TestWatchSet(t *testing.T) {
	t.Parallel()
	dir, first := watched(t, "a")
	second := first.watcher.Watch()
	setWatched(t, second, dir, "a")
	setWatched(t, first, dir, "sub/a")
	put(t, filepath.Join(dir, "a"), "1")
	equal(t, "the other", next(t, second), "add a")
	setWatched(t, second, dir)
	setWatched(t, first, dir, "a")
	put(t, filepath.Join(dir, "a"), "2")
	equal(t, "back again", next(t, first), "change a")
	var many []string
	for i := range maxWatched + 1 {
		many = append(many, filepath.Join(dir, fmt.Sprint(i)))
	}
	if err := first.Set(many); err == nil {
		t.Error("a Watch has no bounds")
	}
}

// A member's shell goes to a folder and comes back.
func TestWatchBackAndForth(t *testing.T) {
	t.Parallel()
	dir, watch := watched(t, "a")
	for range 3 {
		setWatched(t, watch, dir, "sub/a")
		setWatched(t, watch, dir, "a")
	}
	put(t, filepath.Join(dir, "a"), "1")
	equal(t, "made", next(t, watch), "add a")
}
