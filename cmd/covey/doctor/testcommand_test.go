package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestMakeTest finds the target test of a Makefile, and nothing similar.
func TestMakeTest(t *testing.T) {
	for file, want := range map[string]string{
		"test:\n\tgo test\n":             "make test",
		"all: x\n\ntest: all lint\n":     "make test",
		"test :\n":                       "make test",
		"test:":                          "make test",
		"test:: a\n":                     "make test",
		".PHONY: test\n":                 "",
		"test = x\n":                     "",
		"test := x\n":                    "",
		"test:= x\n":                     "",
		"tests:\n":                       "",
		"\ttest:\n":                      "",
		"unit-test:\n":                   "",
		"# test:\n":                      "",
		"":                               "",
		"check:\n\techo test: nothing\n": "",
	} {
		if got := makeTest("", []byte(file)); got != want {
			t.Errorf("%q gives %q, want %q", file, got, want)
		}
	}
}

// TestHasGoFile checks the same folders as `./...`.
func TestHasGoFile(t *testing.T) {
	for path, want := range map[string]bool{
		"a.go": true, "a_test.go": true, "x/y/z/a.go": true, "a.go.txt": false, "a.GO": false,
		"_a.go": false, ".a.go": false, "_x/a.go": false, ".x/a.go": false, "testdata/a.go": false,
		"vendor/a.go": false, "x/testdata/a.go": false, "x/vendors/a.go": true, "a.go/x": false,
	} {
		dir := testkit.Files(t, map[string]string{"go.mod": "module x\n", path: ""})
		if got := hasGoFile(dir); got != want {
			t.Errorf("with %s: %t, want %t", path, got, want)
		}
	}
	if hasGoFile(filepath.Join(t.TempDir(), "none")) {
		t.Error("a folder that is not there has a Go file")
	}
}

// TestHasGoFileUnreadable: an unreadable folder does not end the search.
func TestHasGoFileUnreadable(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"a/x.txt": "", "b/x.go": ""})
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "a"), 0o755) })
	if !hasGoFile(dir) {
		t.Error("the Go file behind the closed folder is not found")
	}
}
