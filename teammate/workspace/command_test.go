package workspace

import (
	"path/filepath"
	"testing"
)

// A name is no way out of the folder of commands.
func TestFindCommandStaysInside(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "secret.md"), "secret")
	put(t, filepath.Join(dir, "w", ".claude", "commands", "a", "b.md"), "ok")
	if c, ok := FindCommand(filepath.Join(dir, "w"), "a:b"); !ok || c.Text != "ok" {
		t.Error(c, ok)
	}
	for _, name := range []string{"../../../secret", "a/b", "", "a:", "..:..:..:secret"} {
		if _, ok := FindCommand(filepath.Join(dir, "w"), name); ok {
			t.Errorf("%q was found", name)
		}
	}
}
