package workcopies

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// stopped ends the team of a grove, so that its store can be opened.
func (g *grove) stopped(t *testing.T) {
	t.Helper()
	g.Close()
	testkit.Must(t, g.deps.Store.Close())
}

// legacy is LegacyOf of a grove.
func (g *grove) legacy(t *testing.T) Legacy {
	t.Helper()
	l, err := LegacyOf(t.Context(), worktree.Git{}, g.deps.Place)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLegacy: what is merged goes, and branches with other commits stay.
func TestLegacy(t *testing.T) {
	g := newGrove(t)
	ana, _ := g.Of("ana")
	ben, _ := g.Of("ben")
	sh(t, ana.Root, "echo a >a; git add a; git commit -qm a; echo b >b; git add b; git commit -qm b")
	g.publish(t, "ana")
	// Two commits of ana's are one on main, as after a pull request.
	sh(t, g.team.Workspace, "git merge -q --squash covey/crew/ana; git commit -qm 'ana, squashed'")
	// ben went on on a branch of his own, and has not committed to the team's.
	sh(t, ben.Root, "git checkout -q -b mine; echo c >c; git add c; git commit -qm c")
	g.publish(t, "ben")
	// One piece of finished work waits, one was merged and is in use elsewhere, and one is on a branch
	// of the user's.
	for name, commit := range map[string]string{"covey/crew/task_1": "covey/crew/ben", "covey/crew/task_2": "main", "own": "main"} {
		sh(t, g.team.Workspace, "git branch "+name+" "+commit)
		id := testkit.Shell(t, g.team.Workspace, "git rev-parse "+name)
		_, err := g.deps.Store.Merges().Propose(t.Context(), actors.Actor{Name: actors.Operator}, tasks.Merge{
			Branch: name, Member: "ana", Tasks: []string{"1"}, Commit: id, From: id, Into: "main", State: tasks.MergeWaiting,
		})
		testkit.Must(t, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	sh(t, g.team.Workspace, "git worktree add -q "+other+" covey/crew/task_2")
	g.stopped(t)

	l := g.legacy(t)
	if want := []string{ana.Top, ben.Top}; !slices.Equal(l.Copies, want) {
		t.Errorf("copies %q, want %q", l.Copies, want)
	}
	if want := []string{"covey/crew/ana"}; !slices.Equal(l.Branches, want) {
		t.Errorf("branches %q, want %q", l.Branches, want)
	}
	if len(l.Kept) != 2 || l.Kept[0].Name != "covey/crew/ben" || l.Kept[1].Name != "covey/crew/task_1" {
		t.Fatalf("kept %+v", l.Kept)
	}
	if said := testkit.Shell(t, "/", l.Kept[0].Show+" --format=%s"); said != "c" {
		t.Errorf("%s shows %q", l.Kept[0].Show, said)
	}
	testkit.Must(t, l.Remove(t.Context()))
	const left = "covey/crew/ben\ncovey/crew/task_1\ncovey/crew/task_2\nmain\nown"
	if got := testkit.Shell(t, g.team.Workspace, "git for-each-ref --format='%(refname:short)' refs/heads"); got != left {
		t.Errorf("the branches are\n%s", got)
	}
	if got := testkit.Shell(t, g.team.Workspace, "git for-each-ref refs/covey"); got != "" || IsFolder(ana.Top) {
		t.Errorf("left: %s", got)
	}
}

// TestLegacyStays: a working copy with anything that no branch holds keeps the team, and so does a
// folder that git does not know.
func TestLegacyStays(t *testing.T) {
	for script, want := range map[string]string{
		"echo x >x":     "1 uncommitted files",
		"rm shared.txt": "1 uncommitted files",
		"git init -q sub; cd sub; git commit -q --allow-empty -m x":                 "nested repositories: sub",
		"git checkout -q -b try; git commit -qm x --allow-empty; git checkout -q -": "commits on try",
		"echo x >shared.txt; git stash -q":                                          "commits on stash",
		"git init -q ../../sub; git -C ../../sub commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule add -q ../../sub sub; git commit -qm sub": "submodules",
		"cp -R . ../ana.lost-1":                "ana.lost-1 is not a working copy",
		`rm "$(git rev-parse --git-dir)/HEAD"`: "ana",
	} {
		g := newGrove(t)
		ana, _ := g.Of("ana")
		sh(t, ana.Root, script)
		g.stopped(t)
		if _, err := LegacyOf(t.Context(), worktree.Git{}, g.deps.Place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
	g := newGrove(t)
	outside := t.TempDir()
	testkit.Must(t, g.record.keep(t.Context(), "ana", Tree{Top: outside, ByHook: true}))
	g.stopped(t)
	if l := g.legacy(t); len(l.Kept) != 1 || l.Kept[0].Name != outside {
		t.Errorf("a hook's copy: %+v", l.Kept)
	}
	g = newGrove(t)
	testkit.Must(t, g.record.keep(t.Context(), "ana", Tree{Top: g.deps.Place.Scratch(), ByHook: true}))
	g.stopped(t)
	if _, err := LegacyOf(t.Context(), worktree.Git{}, g.deps.Place); err == nil || !strings.Contains(err.Error(), "a hook made") {
		t.Errorf("a hook's copy in the state folder: %v", err)
	}
	g = newGrove(t)
	g.stopped(t)
	unknown := g.deps.Place
	unknown.Workspace = ""
	testkit.Must(t, os.RemoveAll(g.team.Workspace))
	for _, p := range []state.Place{g.deps.Place, unknown} {
		if _, err := LegacyOf(t.Context(), worktree.Git{}, p); err == nil || !strings.Contains(err.Error(), "cannot be compared") {
			t.Errorf("nobody knows what the copies have: %v", err)
		}
	}
	testkit.Must(t, os.RemoveAll(g.deps.Place.Worktrees()))
	g.legacy(t)
}

// TestLegacyKilled: what a kill leaves in the middle of the removal goes with the next one.
func TestLegacyKilled(t *testing.T) {
	g := newGrove(t)
	ana, _ := g.Of("ana")
	g.stopped(t)
	aside := filepath.Join(g.deps.Place.Dir, "removed-1")
	testkit.Must(t, os.Mkdir(aside, 0o700))
	testkit.Must(t, os.Rename(ana.Top, filepath.Join(aside, "ana")))
	sh(t, g.team.Workspace, "touch .git/refs/heads/covey/crew/ana.lock") // of a git that was killed as well
	testkit.Must(t, os.Mkdir(filepath.Join(filepath.Dir(ana.Top), ".new-1"), 0o700))
	l := g.legacy(t)
	testkit.Must(t, l.Remove(t.Context()))
	if got := testkit.Shell(t, g.team.Workspace, "git for-each-ref refs/covey refs/heads/covey"); got != "" {
		t.Errorf("left: %s", got)
	}
	l = g.legacy(t)
	testkit.Must(t, l.Remove(t.Context()))
}
