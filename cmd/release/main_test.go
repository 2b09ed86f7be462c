package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/hooks/testkit"
)

var (
	update = flag.Bool("update", false, "write the files of testdata anew")
	builds = flag.Bool("build", false, "also build covey from two clones, and install it from a proxy made of files")
)

func TestMain(m *testing.M) {
	testkit.Begin(0)
	os.Exit(m.Run())
}

// commitTime is the time of the commit that tests release.
var commitTime = time.Date(2026, 11, 26, 3, 4, 5, 0, time.UTC)

// golden compares a text with a file in testdata/release.txtar.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	const path = "testdata/release.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range archive.Files {
		if f.Name != name {
			continue
		}
		if bytes.Equal(f.Data, got) {
			return
		}
		if !*update {
			t.Fatalf("%s is\n%s\nand not as in %s\n%s", name, got, path, f.Data)
		}
		archive.Files[i].Data = got
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no file %s", path, name)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWrongUse: mistakes in the arguments are code 2 and build nothing, and a folder with
// content is not written to.
func TestWrongUse(t *testing.T) {
	full := t.TempDir()
	writeFile(t, filepath.Join(full, "old"), "")
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "usage: go run ./cmd/release"},
		{"a b", 2, "usage: "},
		{"-wrong x", 2, "flag provided but not defined: -wrong"},
		{"-only plan9/mips x", 2, `there is no release for "plan9/mips"; there is one for [linux/amd64 `},
		{full, 1, "is not empty; name a new folder"},
		{filepath.Join(full, "old"), 1, "make the folder of the release: "},
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(tc.args), &stderr)
		if code != tc.code || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%q: code %d, %s", tc.args, code, &stderr)
		}
	}
}
