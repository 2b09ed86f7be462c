package configs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestErrors holds the exact text of every message against the specs in
// testdata/errors. In each archive the specs are the YAML and JSON files at
// the top, `NAME.errors` is what NAME must give, and the rest are files that
// the specs name.
func TestErrors(t *testing.T) {
	archives, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			testArchive(t, path)
		})
	}
}

func testArchive(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(archive, dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var out []txtar.File
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".errors"); ok {
			want[name] = string(f.Data)
		}
	}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".errors") {
			continue
		}
		out = append(out, f)
		if strings.Contains(f.Name, "/") {
			continue
		}
		got := loadErrors(t, dir, f.Name)
		out = append(out, txtar.File{Name: f.Name + ".errors", Data: []byte(got)})
		if !*update && got != want[f.Name] {
			t.Errorf("%s gives\n%s\nwant\n%s\nif this is meant: go test ./configs -run TestErrors -update", f.Name, got, want[f.Name])
		}
	}
	if *update {
		archive.Files = out
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// loadErrors loads a spec that must fail and returns the messages, free of the
// folder's name.
func loadErrors(t *testing.T, dir, name string) string {
	t.Helper()
	team, err := Load(filepath.Join(dir, name))
	var problems Errors
	if !errors.As(err, &problems) {
		t.Fatalf("%s: error %v, want Errors", name, err)
	}
	if team != nil {
		t.Errorf("%s gives a team in spite of its errors", name)
	}
	for _, p := range problems {
		if p.File != filepath.Join(dir, name) || p.Line < 1 || p.Col < 1 || p.Message == "" {
			t.Errorf("%s: incomplete problem %+v", name, p)
		}
	}
	text := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	return strings.ReplaceAll(text, dir, "DIR") + "\n"
}
