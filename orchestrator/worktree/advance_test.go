package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// ahead makes a commit on top of main in which script has changed the files, and
// returns it; main and its files stay.
func ahead(t *testing.T, r *Repo, script string) string {
	t.Helper()
	dir := filepath.Join(testkit.Folder(t), "w")
	return testkit.Shell(t, r.Top, `git worktree add -q --detach '`+dir+`'; cd '`+dir+`'; `+script+
		`; git add -Af; git commit -qm ahead; git rev-parse HEAD`)
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	to := ahead(t, r, "echo new >b; echo x >a")
	testkit.Shell(t, r.Top, "echo mine >untracked; git config merge.autostash true; git config merge.verifySignatures true")
	if err := r.Advance(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if read(t, r.Top, "a") != "x\n" || read(t, r.Top, "b") != "new\n" || read(t, r.Top, "untracked") != "mine\n" {
		t.Error("the files are not those of the commit, or somebody's are gone")
	}
	if got := testkit.Shell(t, r.Top, "git rev-parse main; git status --porcelain"); got != to+"\n?? untracked" {
		t.Errorf("%s", got)
	}
}

// What a person has changed and not committed outlives everything.
func TestAdvanceLeavesWorkAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ mine, theirs, file string }{
		"changed":         {"echo mine >a", "echo theirs >a", "a"},
		"staged":          {"echo mine >a; git add a", "echo theirs >a", "a"},
		"untracked":       {"echo mine >b", "echo theirs >b", "b"},
		"ignored":         {"echo mine >x.log", "echo theirs >x.log", "x.log"},
		"deleted there":   {"echo mine >a", "git rm -q a", "a"},
		"in a new folder": {"echo mine >d", "mkdir d; echo theirs >d/f", "d"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			to := ahead(t, r, tc.theirs)
			testkit.Shell(t, r.Top, tc.mine)
			before := testkit.Shell(t, r.Top, "git rev-parse main; git status --porcelain; git stash list")
			err := r.Advance(t.Context(), to)
			var o *Obstacle
			if !errors.As(err, &o) || o.Error() == "" {
				t.Fatalf("error %v", err)
			}
			if read(t, r.Top, tc.file) != "mine\n" {
				t.Error("somebody's work is gone")
			}
			if after := testkit.Shell(t, r.Top, "git rev-parse main; git status --porcelain; git stash list"); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

func TestAdvanceInTheMiddleOfSomething(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	to := ahead(t, r, "echo theirs >b")
	testkit.Shell(t, r.Top, `git checkout -q -b side; echo s >a; git commit -qam s; git checkout -q main; echo m >a; git commit -qam m
git merge side >/dev/null 2>&1 || true; git checkout -q --detach 2>/dev/null || true`)
	err := r.Advance(t.Context(), to)
	var o *Obstacle
	if !errors.As(err, &o) && !errors.Is(err, ErrMoved) {
		t.Errorf("in the middle of a merge: %v", err)
	}
}

func TestAdvanceOnlyForward(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	to := ahead(t, r, "echo theirs >b")
	testkit.Shell(t, r.Top, "echo mine >c; git add c; git commit -qm mine")
	before := testkit.Shell(t, r.Top, "git rev-parse main")
	if err := r.Advance(t.Context(), to); !errors.Is(err, ErrMoved) {
		t.Errorf("error %v", err)
	}
	if after := testkit.Shell(t, r.Top, "git rev-parse main"); after != before {
		t.Error("the branch has moved")
	}
}

func TestObstacleNamesFiles(t *testing.T) {
	t.Parallel()
	o := &Obstacle{Dir: "/w", Files: strings.Fields("a b c d e f g")}
	if got := o.Error(); got != "/w has uncommitted changes in a, b, c, d, e and 2 more" {
		t.Error(got)
	}
	o = &Obstacle{Dir: "/w", Said: "error: You have not concluded your merge (MERGE_HEAD exists).\nhint: x"}
	if got := o.Error(); got != "/w: You have not concluded your merge (MERGE_HEAD exists)." {
		t.Error(got)
	}
}

func TestCloneAndSwitch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first, second := testkit.Shell(t, r.Top, "git rev-parse HEAD"), ahead(t, r, "echo new >b; git rm -q a")
	scratch := clone(t, r, first)
	path := scratch.Top
	if _, err := r.Clone(t.Context(), New{Path: path, Commit: first}); !errors.Is(err, ErrTaken) {
		t.Errorf("once more: %v", err)
	}
	// What gates have left lies there, also a repository; what is ignored may stay.
	testkit.Shell(t, path, "echo dirt >a; echo dirt >left; echo built >x.log; git init -q nested; echo n >nested/n")
	if err := scratch.Switch(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if got := testkit.Shell(t, path, "git status --porcelain; git rev-parse HEAD; ls -A"); got != second+"\n.git\n.gitignore\nb\nx.log" {
		t.Errorf("%s", got)
	}
	if h, err := scratch.Head(t.Context()); err != nil || h.Branch != "" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := os.Stat(filepath.Join(r.Top, "b")); err == nil {
		t.Error("the first copy was touched")
	}
}

func TestEntry(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, "echo x >'*'; chmod +x '*'; ln -s a link; git add -A; git commit -qm more")
	for path, want := range map[string]string{"a": "100644", "*": "100755", "link": "120000", "nothing": "", "b*": ""} {
		mode, id, err := r.Entry(t.Context(), "HEAD", path)
		if err != nil || mode != want || (id == "") != (want == "") {
			t.Errorf("%s: mode %q, id %q, %v", path, mode, id, err)
		}
	}
	if _, _, err := r.Entry(t.Context(), "nowhere", "a"); err == nil {
		t.Error("a commit that is not there has entries")
	}
}
