package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testrun"
)

// commands returns the commands of sources on an event.
func commands(sources []Source, event hooks.Event) []string {
	var out []string
	for _, s := range sources {
		for _, g := range s.Settings[event] {
			for _, h := range g.Hooks {
				out = append(out, h.Command)
			}
		}
	}
	return out
}

// TestReadBounded reads regular files up to a limit, and nothing else.
func TestReadBounded(t *testing.T) {
	dir := testrun.Files(t, map[string]string{"five": "12345"})
	path := filepath.Join(dir, "five")
	for limit, want := range map[int64]error{5: nil, 6: nil, 4: errTooLarge, 0: errTooLarge} {
		data, err := ReadBounded(path, limit)
		if !errors.Is(err, want) {
			t.Errorf("limit %d: error %v, want %v", limit, err, want)
		}
		if err == nil && string(data) != "12345" {
			t.Errorf("limit %d: %q", limit, data)
		}
	}
	if _, err := ReadBounded(dir, 5); err == nil {
		t.Error("a folder is read")
	}
	if _, err := ReadBounded(os.DevNull, 5); err == nil {
		t.Error("a device is read")
	}
	if _, err := ReadBounded(filepath.Join(dir, "none"), 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
