package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dirNames lists a folder.
func dirNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestGlobEscape: the folder of a store may be called as a pattern is. Only the damaged
// files of this very store are counted, and the newest of them stay.
func TestGlobEscape(t *testing.T) {
	for _, folder := range []string{"plain", "a*b", "[ab]", "q?", `back\slash`} {
		dir := filepath.Join(t.TempDir(), folder)
		path, other := filepath.Join(dir, "tasks.db"), filepath.Join(dir, "tasks.dbx")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range maxDamaged + 2 {
			for _, p := range []string{path, other} {
				if err := os.WriteFile(fmt.Sprintf("%s.damaged-%d", p, i), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := trimDamaged(path); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, name := range dirNames(t, dir) {
			if strings.HasPrefix(name, "tasks.db.") {
				left = append(left, strings.TrimPrefix(name, "tasks.db.damaged-"))
			}
		}
		if !slices.Equal(left, []string{"2", "3", "4"}) {
			t.Errorf("damaged files in %s: %q", folder, left)
		}
		if err := RemoveFiles(path, ""); err != nil {
			t.Fatal(err)
		}
		if names := dirNames(t, dir); len(names) != maxDamaged+2 {
			t.Errorf("%s: with the store gone there are %v", folder, names)
		}
	}
}
