package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFullDiskLeavesTheFileAsItWas(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	b := newBench(t, nil)
	path := filepath.Join(dir, "f")
	b.ok("Write", fields{"file_path": path, "content": "small"})
	got := b.fails("Write", fields{"file_path": path, "content": strings.Repeat("x", 1<<20)})
	if !strings.Contains(got, "no space left on device; the file is as it was") {
		t.Errorf("got %q", got)
	}
	data, err := os.ReadFile(path)
	if left, _ := os.ReadDir(dir); string(data) != "small" || err != nil || len(left) != 1 {
		t.Errorf("%q, %v, %v", data, err, left)
	}
	b.ok("Write", fields{"file_path": path, "content": "again"})
}
