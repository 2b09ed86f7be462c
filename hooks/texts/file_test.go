package texts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestReadFile reads regular files up to a limit, and nothing else.
func TestReadFile(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"five": "12345"})
	path := filepath.Join(dir, "five")
	for limit, want := range map[int]error{5: nil, 6: nil, 4: ErrTooLarge, 0: ErrTooLarge} {
		data, err := ReadFile(path, limit)
		if !errors.Is(err, want) {
			t.Errorf("limit %d: error %v, want %v", limit, err, want)
		}
		if err == nil && string(data) != "12345" {
			t.Errorf("limit %d: %q", limit, data)
		}
	}
	if _, err := ReadFile(dir, 5); err == nil {
		t.Error("a folder is read")
	}
	if _, err := ReadFile(os.DevNull, 5); err == nil {
		t.Error("a device is read")
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
