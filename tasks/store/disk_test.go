package store

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCreateAnew: what a member has put in the place of a file of covey is replaced, and a link
// is not followed.
func TestCreateAnew(t *testing.T) {
	dir := t.TempDir()
	from, precious, to := filepath.Join(dir, "from"), filepath.Join(dir, "precious"), filepath.Join(dir, "to")
	for path, text := range map[string]string{from: "copy", precious: "precious"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(precious, to); err != nil {
		t.Skip("no links here:", err)
	}
	for range 2 { // over the link, and over the copy
		if err := CopyFile(from, to); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{to: "copy", precious: "precious"} {
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("%s has %q, %v", filepath.Base(path), got, err)
			}
		}
	}
	if info, err := os.Lstat(to); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the copy is %v, %v", info, err)
	}
}
