package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPathFinding: of two programs on the PATH the first one counts, and links to one file
// are one program.
func TestPathFinding(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two", "link", "text", "none"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(folder string) string { return filepath.Join(dir, folder, "covey") }
	for folder, mode := range map[string]os.FileMode{"one": 0o755, "two": 0o755, "text": 0o644} {
		if err := os.WriteFile(at(folder), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("one"), at("link")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path    string // names of folders
		self    string
		found   []string
		verdict verdict
		want    string
	}{
		{"none text", "one", nil, isOK, "no covey is on the PATH"},
		{"one", "one", []string{"one"}, isOK, at("one") + " is the only covey on the PATH"},
		{"link one none one", "one", []string{"link"}, isOK, at("link") + " is the only"},
		{"two text", "one", []string{"two"}, isWarn, "a shell starts " + at("two") + ", and this is " + at("one")},
		{"none two one", "one", []string{"two", "one"}, isWarn,
			"a shell starts " + at("two") + "; another covey is on the PATH: " + at("one")},
	} {
		list := []string{".", ""}
		for folder := range strings.FieldsSeq(tc.path) {
			list = append(list, filepath.Join(dir, folder))
		}
		t.Setenv("PATH", strings.Join(list, string(os.PathListSeparator)))
		var want []string
		for _, folder := range tc.found {
			want = append(want, at(folder))
		}
		found := onPath("covey")
		if !slices.Equal(found, want) {
			t.Errorf("%s: found %q, want %q", tc.path, found, want)
		}
		f := pathFinding(at(tc.self), found)
		if f.Verdict != tc.verdict || !strings.Contains(f.Text, tc.want) ||
			(f.WayOut == "") != (f.Verdict == isOK) {
			t.Errorf("%s: %+v", tc.path, f)
		}
	}
}
