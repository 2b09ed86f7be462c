//go:build unix

package trust

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe that nobody writes to would wait for ever.
func TestPipesAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	i := Item{Run: Run{Path: path}}
	if err := i.read(); err == nil {
		t.Error("a pipe was read")
	}
}
