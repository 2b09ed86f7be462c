package merging

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// newRepo makes a repository with one commit, in which a script has made the files.
func newRepo(t testing.TB, script string) *worktree.Repo {
	t.Helper()
	r, err := worktree.Git{}.Open(t.Context(), testkit.Repository(t, script))
	testkit.Must(t, err)
	return r
}

// copyOf makes a member's working copy.
func copyOf(t testing.TB, r *worktree.Repo, member string) *worktree.Repo {
	t.Helper()
	path, branch := filepath.Join(testkit.Folder(t), member), worktree.BranchName("crew", member)
	base := r.Base(filepath.Join(testkit.Folder(t), "base.git"), "crew-1")
	testkit.Must(t, base.Add(t.Context(), worktree.New{Path: path, Branch: branch, Commit: "main"}))
	c, _, err := base.Open(t.Context(), path, branch)
	testkit.Must(t, err)
	return c
}

// newStore opens a store that is checked in the end.
func newStore(t testing.TB) *tasks.Store {
	t.Helper()
	s, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := s.Check(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		testkit.Must(t, s.Close())
	})
	return s
}
