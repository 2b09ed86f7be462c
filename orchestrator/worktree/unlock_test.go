package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestUnlock: a copy in which a git was killed can be worked in again; locks that may be
// somebody else's stay.
func TestUnlock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ana := add(t, r, "covey/crew/ana")
	base := ana.lent.base
	gone := []string{
		filepath.Join(ana.GitDir, "index.lock"), filepath.Join(ana.GitDir, "HEAD.lock"),
		filepath.Join(r.Common, "refs", "heads", "covey", "crew", "ana.lock"),
		filepath.Join(r.Common, "refs", "heads", "covey", "crew", "task_1.lock"), filepath.Join(ana.GitDir, "refs", "heads", "covey", "x.lock"),
		filepath.Join(r.Common, "refs", "covey", "base", "crew-1", "commits", "x.lock"),
	}
	stay := []string{
		filepath.Join(r.Common, "index.lock"), filepath.Join(r.Common, "refs", "heads", "covey", "other.lock"),
		filepath.Join(ana.Top, "mine.lock"), filepath.Join(r.Common, "refs", "covey", "other.lock"),
	}
	for _, path := range append(stay, gone...) {
		testkit.Must(t, os.WriteFile(path, nil, 0o600))
	}
	testkit.Must(t, base.Unlock([]string{ana.Top, filepath.Join(t.TempDir(), "nothing")}, "covey/crew"))
	for _, path := range gone {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range stay {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
	testkit.Shell(t, ana.Top, "echo x >>a; git commit -qam x")
	testkit.Must(t, base.Unlock(nil, "covey/nobody")) // there are no such branches
	testkit.Must(t, base.Unlock(nil, "main/crew"))    // nor can there be

	// A member has its copy name another folder: nothing is removed there.
	lure := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(lure, "x.lock"), nil, 0o600))
	testkit.Must(t, os.RemoveAll(ana.GitDir))
	testkit.Must(t, os.Symlink(lure, ana.GitDir))
	testkit.Must(t, base.Unlock([]string{ana.Top}, "covey/crew"))
	if _, err := os.Stat(filepath.Join(lure, "x.lock")); err != nil {
		t.Error("a lock elsewhere is gone")
	}
}

// TestAdvanceOnceMore: a copy whose files were brought forward by a git that was killed
// before it could say so is brought forward all the same, and a person's changes stay.
func TestAdvanceOnceMore(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]string{
		"new files":     "echo new >b",
		"changed files": "echo x >a",
		"both":          "echo new >b; echo x >a",
		"and the index": "echo new >b; echo x >a; git add a b",
		"a deleted one": "rm gone; echo new >b",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			testkit.Shell(t, r.Top, "echo 1 >gone; echo 1 >kept; git add gone kept; git commit -qm more")
			to := ahead(t, r, "echo new >b; echo x >a; git rm -q gone")
			testkit.Shell(t, r.Top, half+"; echo mine >kept")
			testkit.Must(t, r.Advance(t.Context(), to))
			if got := testkit.Shell(t, r.Top, "git rev-parse main; git status --porcelain; cat a b kept"); got != to+"\n M kept\nx\nnew\nmine" {
				t.Errorf("%s", got)
			}
		})
	}
}
