package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain keeps the settings of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	goleak.VerifyTestMain(m)
}

// sh runs a shell script in a folder and returns what it printed.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@x", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// folder is an empty folder without links in its path.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// newRepo makes a repository with one commit: a file "a" with three lines.
func newRepo(t testing.TB) *Repo {
	t.Helper()
	dir := folder(t)
	sh(t, dir, `git init -q -b main; printf '1\n2\n3\n' >a; printf '*.log\n' >.gitignore; git add -A; git commit -qm first`)
	return open(t, dir)
}

func open(t testing.TB, dir string) *Repo {
	t.Helper()
	r, err := Git{}.Open(t.Context(), dir)
	must(t, err)
	return r
}

// add makes a working copy on a branch of its own.
func add(t testing.TB, r *Repo, branch string) *Repo {
	t.Helper()
	path := filepath.Join(folder(t), "copy")
	must(t, r.Copies.Add(t.Context(), New{Path: path, Branch: branch, Base: "HEAD"}))
	return open(t, path)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
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
	must(t, err)
	return s
}
