package merging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
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
	cmd.Env = append(os.Environ(),
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@x", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is an empty folder without links in its path.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// newRepo makes a repository with one commit, in which a script has made the files.
func newRepo(t testing.TB, script string) *worktree.Repo {
	t.Helper()
	dir := folder(t)
	sh(t, dir, "git init -q -b main; "+script+"; git add -A; git commit -qm first")
	r, err := worktree.Git{}.Open(t.Context(), dir)
	must(t, err)
	return r
}

// copyOf makes a member's working copy.
func copyOf(t testing.TB, r *worktree.Repo, member string) *worktree.Repo {
	t.Helper()
	path := filepath.Join(folder(t), member)
	must(t, r.Copies.Add(t.Context(), worktree.New{Path: path, Branch: worktree.BranchName("crew", member), Base: "main"}))
	c, err := r.At(t.Context(), path)
	must(t, err)
	return c
}

// newStore opens a store that is checked in the end.
func newStore(t testing.TB) *tasks.Store {
	t.Helper()
	s, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Check(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		must(t, s.Close())
	})
	return s
}
