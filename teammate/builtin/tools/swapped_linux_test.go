package tools

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"golang.org/x/sys/unix"
)

// swaps is how often TestSwappedLinks has each tool work; .ci/long has 3,000.
var swaps = flag.Int("swaps", 200, "how often TestSwappedLinks has each tool work")

// TestSwappedLinks: whatever a program puts in the place of a folder or a file, and at whatever moment, no tool reads
// or writes what the link leads to, be it outside of the workspace or in another folder of it.
func TestSwappedLinks(t *testing.T) {
	b := newBench(t, nil)
	outside := workspaceReal(t)
	for _, root := range []string{b.root, outside} {
		for _, name := range []string{"plain", "hidden"} {
			text := map[string]string{"plain": "fine", "hidden": "SECRET"}[name]
			testkit.Put(t, filepath.Join(root, name), "f", text)
		}
		testkit.Must(t, os.Symlink("hidden", filepath.Join(root, "link")))
	}
	swap := func(root string) { // the folder and the link change places, in one step
		_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, "plain"), unix.AT_FDCWD, filepath.Join(root, "link"), unix.RENAME_EXCHANGE)
	}
	stop, swapped := make(chan struct{}), sync.WaitGroup{}
	for _, root := range []string{b.root, outside} {
		swapped.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					swap(root)
				}
			}
		})
	}
	escapes := 0
	ctx := t.Context()
	for range *swaps {
		for _, root := range []string{b.root, outside} {
			file := filepath.Join(root, "plain", "f")
			if r := b.tools.read(ctx, readInput{FilePath: file}); strings.Contains(r.Content, "SECRET") {
				escapes++
			}
			b.tools.write(ctx, writeInput{FilePath: filepath.Join(root, "plain", "new"), Content: "x"})
			b.tools.write(ctx, writeInput{FilePath: filepath.Join(root, "plain", "deep", "new"), Content: "x"})
			found := b.tools.grep(ctx, grepInput{Pattern: "SECRET", Path: filepath.Join(root, "plain"), OutputMode: "content"})
			if strings.Contains(found.Content, "SECRET") {
				escapes++
			}
		}
	}
	close(stop)
	swapped.Wait()
	for _, root := range []string{b.root, outside} {
		// Where the folder is itself again, it is read.
		if _, err := os.Readlink(filepath.Join(root, "plain")); err == nil {
			swap(root)
		}
		if r := b.tools.read(ctx, readInput{FilePath: filepath.Join(root, "plain", "f")}); r.IsError || !strings.Contains(r.Content, "fine") {
			t.Errorf("the file itself is read as %+v", r)
		}
		for _, name := range []string{"new", "deep/new"} {
			if _, err := os.Lstat(filepath.Join(root, "hidden", name)); err == nil {
				escapes++
			}
		}
	}
	if escapes > 0 {
		t.Errorf("%d escapes", escapes)
	}
}

// workspaceReal returns an empty folder by a path without links.
func workspaceReal(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	return dir
}
