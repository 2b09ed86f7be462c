package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// rot is a filter that stores files with other letters, in the repository's configuration.
const rot = `git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'; git config filter.rot.required true
`

// newSecret is a repository with one commit in which a filter of its own configuration has
// stored the file "s.sec".
func newSecret(t *testing.T) *Repo {
	t.Helper()
	r := newRepo(t)
	testkit.Shell(t, r.Top, rot+`echo '*.sec filter=rot' >.gitattributes; echo hello >s.sec; git add -A; git commit -qm secret`)
	return r
}

// withheldBy is git that notes which files it has left alone.
func withheldBy(into *[]string) Git {
	return Git{Withheld: func(w Withheld) { *into = append(*into, w.Filters[0]+":"+strings.Join(w.Files, ",")) }}
}

// TestWithheld: files with a filter of the repository are neither checked out nor
// committed, whatever is done to them, and it is said.
func TestWithheld(t *testing.T) {
	t.Parallel()
	r := newSecret(t)
	ctx := t.Context()
	var told []string
	r, err := withheldBy(&told).Open(ctx, r.Top)
	testkit.Must(t, err)
	ana := add(t, r, "ana")
	path := ana.Top
	if exists(path, "s.sec") || !slices.Equal(told, []string{"rot:s.sec"}) {
		t.Errorf("it is checked out; told of %q", told)
	}
	if got := testkit.Shell(t, path, "git status --porcelain"); got != "" {
		t.Errorf("git takes it for changed: %s", got)
	}
	base := testkit.Shell(t, path, "git rev-parse HEAD:s.sec")
	commit := func(what, script string, withheld ...string) {
		t.Helper()
		testkit.Shell(t, path, script)
		if got := state(t, ana).Withheld; !slices.Equal(got, withheld) {
			t.Errorf("%s: withheld %q, want %q", what, got, withheld)
		}
		_, err := ana.CommitAll(ctx, Commit{Message: what}, nil)
		testkit.Must(t, err)
		if got := testkit.Shell(t, path, "git rev-parse HEAD:s.sec"); got != base {
			t.Errorf("%s: s.sec is %s", what, testkit.Shell(t, path, "git show HEAD:s.sec"))
		}
		if got := testkit.Shell(t, path, "git ls-tree -r --name-only HEAD"); strings.Contains(got, "new.sec") {
			t.Errorf("%s: a new file was committed: %s", what, got)
		}
	}
	commit("nothing of it", "echo 1 >b")
	commit("changed and new", "echo topsecret >s.sec; echo topsecret >new.sec; echo 2 >b", "new.sec", "s.sec")
	if err := ana.Rescue(ctx, "refs/covey/rescue/1", "x"); err == nil {
		t.Error("files that no commit may take count as rescued")
	}
	commit("deleted", "rm s.sec new.sec; echo 3 >b")
	commit("without the attribute", "rm .gitattributes; echo 4 >b")
	commit("once more without it", "echo 5 >b")
}

// TestWithheldOnTheWay: files with a filter of the repository do not come into the user's
// working copy with a merge, and stay out of a member's.
func TestWithheldOnTheWay(t *testing.T) {
	t.Parallel()
	r := newSecret(t)
	ctx := t.Context()
	ana := add(t, r, "ana")
	tip := testkit.Shell(t, r.Top, `echo other >s.sec; git add -A; git commit -qm two >&2; git rev-parse HEAD; git reset -q --hard HEAD~1`)
	var way *Obstacle
	if err := r.Advance(ctx, tip); !errors.As(err, &way) || way.Withheld == nil || !strings.Contains(err.Error(), "git: {filters: [rot]}") {
		t.Errorf("%v", err)
	}
	if got := read(t, r.Top, "s.sec"); got != "hello\n" {
		t.Errorf("the user's file is %q", got)
	}
	testkit.Must(t, ana.Follow(ctx, tip))
	if exists(ana.Top, "s.sec") || testkit.Shell(t, ana.Top, "git rev-parse HEAD") != tip || testkit.Shell(t, ana.Top, "git status --porcelain") != "" {
		t.Errorf("it is there: %s", testkit.Shell(t, ana.Top, "git status; ls"))
	}
	scratch := clone(t, r, tip)
	for _, to := range []string{"main", tip} {
		testkit.Must(t, scratch.Switch(ctx, to))
		if exists(scratch.Top, "s.sec") {
			t.Errorf("it is checked out at %s", to)
		}
	}
	if brought := testkit.Shell(t, r.Top, "git checkout -qb two main; echo x >b; git add b; git commit -qm b; git checkout -q main; git rev-parse two"); r.Advance(ctx, brought) != nil {
		t.Error("a commit that leaves such files alone does not come")
	}
}

// TestFilterAllowed: an allowed filter runs as it was when it was allowed; one of the user
// that the repository has as well, as the user has it.
func TestFilterAllowed(t *testing.T) {
	bad, ran := trap(t)
	allowed := newSecret(t)
	filters := Git{}.FiltersIn(t.Context(), allowed.Dir, []string{"rot", "none"})
	if len(filters) != 1 || filters[0].String() != `rot clean="tr a-z n-za-m" smudge="tr a-z n-za-m" required` {
		t.Fatalf("%v", filters)
	}
	users := newSecret(t)
	global := filepath.Join(testkit.Folder(t), "config")
	for name, test := range map[string]struct {
		repo *Repo
		git  Git
	}{
		"allowed": {allowed, Git{Filters: func() []Filter { return filters }}}, "of the user": {users, Git{}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.repo == users {
				t.Setenv("GIT_CONFIG_GLOBAL", global)
				testkit.Shell(t, users.Top, strings.ReplaceAll(rot, "git config", "git config --global"))
			}
			testkit.Shell(t, test.repo.Top, "git config filter.rot.clean "+bad+"; git config filter.rot.smudge "+bad)
			r, err := test.git.Open(t.Context(), test.repo.Top)
			testkit.Must(t, err)
			ana := add(t, r, "ana")
			path := ana.Top
			if got := read(t, path, "s.sec"); got != "hello\n" {
				t.Errorf("checked out as %q", got)
			}
			testkit.Must(t, os.WriteFile(filepath.Join(path, "new.sec"), []byte("abc\n"), 0o600))
			_, err = ana.CommitAll(t.Context(), Commit{Message: "new"}, nil)
			testkit.Must(t, err)
			if got := testkit.Shell(t, path, "git cat-file blob HEAD:new.sec"); got != "nop" {
				t.Errorf("committed as %q", got)
			}
			if exists(ran) {
				t.Errorf("what the repository says by now ran: %s", read(t, ran))
			}
		})
	}
}

// TestGitLeavesNothingBehind: what git has started has a session of its own, and ends
// when git ends.
func TestGitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	note := filepath.Join(testkit.Folder(t), "session")
	var started int
	git := Git{Env: []string{"MARK=1"}, Started: func(pid int) func() { started = pid; return func() {} }}
	script := `!cut -d" " -f6 /proc/self/stat >'` + note + `'; echo $MARK >>'` + note + `'; sleep 305 & echo $! >>'` + note + `'; true`
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	_, err := git.once(t.Context(), call{args: []string{"-c", "alias.leave=" + script, "leave"}, dir: r.Top})
	testkit.Must(t, err)
	said := strings.Fields(read(t, note))
	if len(said) != 3 || said[1] != "1" {
		t.Fatalf("%q", said)
	}
	if own := strings.Fields(read(t, "/proc/self/stat")); said[0] == own[5] {
		t.Error("it is in the session of this process")
	}
	if started == 0 {
		t.Error("nobody was told of git")
	}
	if data, err := os.ReadFile("/proc/" + said[2] + "/stat"); err == nil && !strings.Contains(string(data), ") Z ") {
		t.Errorf("it runs on: %s", data)
	}
}

// TestNeedFilters: a required filter whose program is not installed is named before git fails
// at it, but only if it may run and a file has it.
func TestNeedFilters(t *testing.T) {
	r := newRepo(t)
	testkit.Shell(t, r.Top, `printf '*.bin filter=big\n' >.gitattributes; mkdir d; echo x >'d/a b.bin'; git add -A; git commit -qm big`)
	define := func(text string) string { return "[filter \"big\"]\n" + text + "\n" }
	for _, c := range []struct{ global, own, want string }{
		{define("process = no-such-lfs process\nrequired"), "", "d/a b.bin need the git filter big, which runs no-such-lfs;"},
		{define("clean = cat\nsmudge = git no-such-lfs %f\nrequired"), "", "which runs git-no-such-lfs;"},
		{define("process = no-such-lfs process"), "", ""},
		{define("clean = cat\nsmudge = git cat-file %f\nrequired"), "", ""},
		{define("clean = X=1 no-such-lfs\nrequired"), "", ""}, // the shell has to read it
		{strings.ReplaceAll(define("process = no-such-lfs\nrequired"), "big", "other"), "", ""},
		{"", define("process = no-such-lfs\nrequired"), "which runs no-such-lfs;"},
		{"", "", ""},
	} {
		global := filepath.Join(t.TempDir(), "config")
		testkit.Must(t, os.WriteFile(global, []byte(c.global), 0o600))
		t.Setenv("GIT_CONFIG_GLOBAL", global)
		git := Git{}
		if c.own != "" { // of the repository, and the spec lets it run
			git.Filters = func() []Filter { return []Filter{{Name: "big", Process: "no-such-lfs", Required: true}} }
		}
		repo, err := git.Open(t.Context(), r.Top)
		testkit.Must(t, err)
		err = repo.NeedFilters(t.Context())
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrNoFilter) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.global, err, c.want)
		}
	}
}
