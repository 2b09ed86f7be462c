package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenOwn: a file is made and opened again, and what a link leads to stays as it is.
func TestOpenOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, users := filepath.Join(dir, "up.log"), filepath.Join(t.TempDir(), "users")
	for range 2 {
		f, err := OpenOwn(path, os.O_WRONLY|os.O_APPEND)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if data, err := os.ReadFile(path); string(data) != "xx" {
		t.Errorf("the file has %q, %v", data, err)
	}
	for _, to := range []string{users, path} {
		link := filepath.Join(dir, "link")
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
		if f, err := OpenOwn(link, os.O_RDWR); err == nil || !strings.Contains(err.Error(), link+" is no regular file") {
			t.Errorf("a link to %s: %v, %v", to, f, err)
		}
		os.Remove(link)
	}
	if _, err := os.Lstat(users); err == nil {
		t.Error("a file was made where the link leads")
	}
}
