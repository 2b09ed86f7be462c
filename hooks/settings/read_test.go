package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// write writes files to a new folder and returns it. Files in folders called bin are
// executable.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if filepath.Base(filepath.Dir(path)) == "bin" {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

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
	dir := write(t, map[string]string{"five": "12345"})
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
