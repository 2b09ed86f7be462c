package writes

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// files is what each folder of a test holds at first.
const files = `mkdir docs; echo a >docs/a; echo m >main; echo g >.gitignore; printf '*.log\n' >.gitignore`

// folders runs a test on a folder in a git repository, and on one in none.
func folders(t *testing.T, test func(t *testing.T, g *Folder)) {
	for _, name := range []string{"git", "no git"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testkit.Folder(t)
			if name == "git" {
				dir = testkit.Repository(t, files)
			} else {
				testkit.Shell(t, dir, files)
			}
			g := &Folder{Dir: dir, Index: filepath.Join(t.TempDir(), "index"), Walk: walker(dir)}
			if name == "git" {
				repo, err := worktree.Git{}.Open(t.Context(), dir)
				testkit.Must(t, err)
				g.Repo = repo
			}
			test(t, g)
		})
	}
}

// walker is a Walk that knows one rule.
func walker(dir string) func(context.Context, func(string) error) error {
	return func(_ context.Context, visit func(string) error) error {
		return fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".log") {
				return err
			}
			return visit(path)
		})
	}
}

// take takes a snapshot on the commit that the folder is on.
func take(t *testing.T, g *Folder, last Snapshot) Snapshot {
	t.Helper()
	if last.Time.IsZero() {
		var err error
		last.Base, err = g.Head(t.Context())
		testkit.Must(t, err)
	}
	s, err := g.Take(t.Context(), last)
	testkit.Must(t, err)
	return s
}
