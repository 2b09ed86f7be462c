package tools

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"golang.org/x/sys/unix"
)

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
	stop, swapped := make(chan struct{}), sync.WaitGroup{}
	for _, root := range []string{b.root, outside} {
		swapped.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					// The folder and the link change places, in one step.
					_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, "plain"), unix.AT_FDCWD, filepath.Join(root, "link"), unix.RENAME_EXCHANGE)
				}
			}
		})
	}
	read, escapes := 0, 0
	ctx := t.Context()
	for range 3000 {
		for _, root := range []string{b.root, outside} {
			file := filepath.Join(root, "plain", "f")
			if r := b.tools.read(ctx, readInput{FilePath: file}); strings.Contains(r.Content, "SECRET") {
				escapes++
			} else if !r.IsError {
				read++
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
		for _, name := range []string{"new", "deep/new"} {
			if _, err := os.Lstat(filepath.Join(root, "hidden", name)); err == nil {
				escapes++
			}
		}
	}
	if escapes > 0 || read == 0 {
		t.Errorf("%d escapes, and %d reads of the file itself", escapes, read)
	}
}

// workspaceReal returns an empty folder by a path without links.
func workspaceReal(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	return dir
}
