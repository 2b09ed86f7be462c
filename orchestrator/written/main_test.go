package written

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// TestMain keeps the settings of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sh runs a shell script in a folder.
func sh(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@x", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@x")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// files is what each ground of a test holds at first.
const files = `mkdir docs policy; echo a >docs/a; echo m >main; echo g >.gitignore; printf '*.log\n' >.gitignore; echo p >policy/p; echo s >policy/s.log`

// grounds runs a test on a ground in a git repository, and on one in none.
func grounds(t *testing.T, test func(t *testing.T, g *Ground)) {
	for name, begin := range map[string]string{"git": "git init -q -b main; git add -A; git commit -qm first", "no git": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			sh(t, dir, files+"; "+begin)
			g := &Ground{Dir: dir, Index: filepath.Join(t.TempDir(), "index"), Walk: walker(dir)}
			if name == "git" {
				g.Repo, err = worktree.Git{}.Open(t.Context(), dir)
				must(t, err)
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

// take takes a snapshot on the commit that the ground is on.
func take(t *testing.T, g *Ground, last Snapshot, globs ...string) Snapshot {
	t.Helper()
	if last.Time.IsZero() {
		var err error
		last.Base, err = g.Head(t.Context())
		must(t, err)
	}
	s, err := g.Take(t.Context(), last, globs)
	must(t, err)
	return s
}

// at is a moment, in milliseconds from some beginning.
func at(ms int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}
