package worktree

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestMain keeps the settings of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	testkit.Begin(0)
	testkit.QuietGit()
	goleak.VerifyTestMain(m)
}

// newRepo makes a repository with one commit: a file "a" with three lines.
func newRepo(t testing.TB) *Repo {
	t.Helper()
	return open(t, testkit.Repository(t, `printf '1\n2\n3\n' >a; printf '*.log\n' >.gitignore`))
}

func open(t testing.TB, dir string) *Repo {
	t.Helper()
	r, err := Git{}.Open(t.Context(), dir)
	testkit.Must(t, err)
	return r
}

// add makes a working copy on a branch of its own.
func add(t testing.TB, r *Repo, branch string) *Repo {
	t.Helper()
	path := filepath.Join(testkit.Folder(t), "copy")
	testkit.Must(t, r.AddCopy(t.Context(), New{Path: path, Branch: branch, Base: "HEAD"}))
	return open(t, path)
}

func read(t testing.TB, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	testkit.Must(t, err)
	return string(data)
}

func exists(elem ...string) bool {
	_, err := os.Lstat(filepath.Join(elem...))
	return err == nil
}

// state is the working copy's state, which must not fail.
func state(t testing.TB, r *Repo) State {
	t.Helper()
	s, err := r.State(context.WithoutCancel(t.Context()), "")
	testkit.Must(t, err)
	return s
}
