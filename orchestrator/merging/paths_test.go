package merging

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ prefix, path, want string }{
		{"", "a/b", "a/b"},
		{"web", "web/x", "x"},
		{"web", "webx/x", "../webx/x"},
		{"web/app", "web/x", "../x"},
		{"web/app", "x", "../../x"},
		{"web/app", "web/app/y/z", "y/z"},
	} {
		if got := Below(tc.prefix, tc.path); got != tc.want {
			t.Errorf("%s from %s: %s, want %s", tc.path, tc.prefix, got, tc.want)
		}
	}
}

// Below says what filepath.Rel says, whatever the folders are.
func TestBelowIsRel(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "b", "ab"})
	rapid.Check(t, func(r *rapid.T) {
		folder := strings.Join(rapid.SliceOfN(name, 1, 3).Draw(r, "folder"), "/")
		path := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(r, "path"), "/")
		if path == folder || strings.HasPrefix(folder, path+"/") {
			return // a file is no folder
		}
		want, err := filepath.Rel("/"+folder, "/"+path)
		if err != nil || Below(folder, path) != filepath.ToSlash(want) {
			r.Fatalf("%s from %s: %s, want %s", path, folder, Below(folder, path), want)
		}
	})
}
