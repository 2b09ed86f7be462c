package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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

// add makes a member's working copy on a branch of its own.
func add(t testing.TB, r *Repo, branch string) *Repo {
	t.Helper()
	path := filepath.Join(testkit.Folder(t), strings.ReplaceAll(branch, "/", "-"))
	b := baseOf(t, r)
	testkit.Must(t, b.Add(t.Context(), New{Path: path, Branch: branch, Commit: "HEAD"}))
	c, _, err := b.Open(t.Context(), path, branch)
	testkit.Must(t, err)
	return c
}

// baseOf returns a base of a repository.
func baseOf(t testing.TB, r *Repo) *Base {
	return r.Base(filepath.Join(testkit.Folder(t), "base.git"), "crew-1")
}

// clone makes a working copy of nobody.
func clone(t testing.TB, r *Repo, commit string) *Repo {
	t.Helper()
	c, err := r.Clone(context.WithoutCancel(t.Context()), New{Path: filepath.Join(testkit.Folder(t), "scratch"), Commit: commit})
	testkit.Must(t, err)
	return c
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
