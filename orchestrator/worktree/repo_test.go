package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"git version 2.39.5":                   {2, 39},
		"git version 2.39.5 (Apple Git-154)":   {2, 39},
		"git version 2.45.1.windows.1":         {2, 45},
		"git version 3.0-rc1":                  {3, 0},
		"git version 2.9":                      {2, 9},
		"hub version 1.2.3":                    {},
		"git version unknown":                  {},
		"git version 2":                        {},
		"git version 2.47.GIT":                 {2, 47},
		"git version 2.50.0-goog (extra text)": {2, 50},
	} {
		major, minor, ok := versionIn(text)
		if ok != (want != [2]int{}) || ok && [2]int{major, minor} != want {
			t.Errorf("%q: %d.%d %v, want %v", text, major, minor, ok, want)
		}
	}
	testkit.Must(t, Git{}.Require(t.Context()))
}

func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	want := "git cannot be used: there is no git program in PATH; install git"
	if err := (Git{}).Require(t.Context()); !errors.Is(err, ErrNoGit) || err.Error() != want {
		t.Errorf("Require without git: %v, want %s", err, want)
	}
	if _, err := (Git{}).Open(t.Context(), t.TempDir()); !errors.Is(err, ErrNoGit) {
		t.Errorf("Open without git: %v", err)
	}
}

func TestOldGit(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	for version, old := range map[string]bool{"2.30.1": true, "2.9.0": true, "1.99": true, "2.38.0": false, "3.0": false} {
		testkit.Must(t, testkit.WriteProgram(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho git version "+version+"\n")))
		err := Git{}.Require(t.Context())
		if (err != nil) != old || old && (!errors.Is(err, ErrNoGit) || !strings.Contains(err.Error(), "2.38 or newer")) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `mkdir -p "sub dir/x"`)
	sub := open(t, filepath.Join(r.Top, "sub dir", "x"))
	if sub.Top != r.Top || sub.Prefix != "sub dir/x" || sub.Common != r.Common || sub.Shallow {
		t.Errorf("a folder below: %+v", sub)
	}
	if r.Prefix != "" || r.GitDir != filepath.Join(r.Top, ".git") || r.Common != r.GitDir {
		t.Errorf("the first folder: %+v", r)
	}
	link := filepath.Join(testkit.Folder(t), "link")
	testkit.Must(t, os.Symlink(r.Top, link))
	if l := open(t, link); l.Top != r.Top || l.Dir != r.Top {
		t.Errorf("by a link: %+v", l)
	}
	there := filepath.Join(testkit.Folder(t), "there")
	testkit.Shell(t, r.Top, "git worktree add -q -b other '"+there+"'")
	linked := open(t, there)
	if linked.Common != r.Common || linked.GitDir == r.GitDir {
		t.Errorf("a linked copy: %+v", linked)
	}
	testkit.Shell(t, r.Top, `git clone -q --depth 1 "file://$PWD" ../shallow-$$; mv ../shallow-$$ shallow`)
	if s := open(t, filepath.Join(r.Top, "shallow")); !s.Shallow {
		t.Error("a shallow clone is not seen as one")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	plain, bare, astray, victim := testkit.Folder(t), testkit.Folder(t), testkit.Folder(t), testkit.Folder(t)
	testkit.Shell(t, bare, `git init -q --bare`)
	testkit.Shell(t, astray, `git init -q; git config core.worktree '`+victim+`'`)
	for what, dir := range map[string]string{
		"no repository": plain, "bare": bare, "inside .git": filepath.Join(newRepo(t).Top, ".git"), "a working copy elsewhere": astray,
	} {
		r, err := (Git{}).Open(t.Context(), dir)
		if !errors.Is(err, ErrNoRepo) || strings.Count(err.Error(), "git repository") != 1 {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	if _, err := (Git{}).Open(t.Context(), filepath.Join(plain, "missing")); err == nil {
		t.Error("a folder that is not there was opened")
	}
}

// TestOpenIgnoresTheEnvironment: covey may be started from a hook of git's, which
// sets GIT_DIR for all that it starts.
func TestOpenIgnoresTheEnvironment(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	t.Setenv("GIT_DIR", other.GitDir)
	t.Setenv("GIT_WORK_TREE", other.Top)
	t.Setenv("GIT_INDEX_FILE", "/nowhere")
	if again := open(t, r.Top); again.Top != r.Top {
		t.Errorf("opened %s", again.Top)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	opened := func(what string) {
		t.Helper()
		want, err := r.Head(ctx)
		testkit.Must(t, err)
		if at, h, err := (Git{}).OpenHead(ctx, r.Top); err != nil || h != want || at.Top != r.Top {
			t.Errorf("%s: opened with %+v, %v, and the head is %+v", what, h, err, want)
		}
		if _, h, err := r.AtHead(ctx, r.Top); err != nil || h != want {
			t.Errorf("%s: found with %+v, %v, and the head is %+v", what, h, err, want)
		}
	}
	opened("on a branch")
	h, err := r.Head(ctx)
	if err != nil || h.Branch != "main" || h.Commit != testkit.Shell(t, r.Top, "git rev-parse HEAD") {
		t.Errorf("%+v, %v", h, err)
	}
	if tree := testkit.Shell(t, r.Top, "git rev-parse HEAD^{tree}"); h.Tree != tree {
		t.Errorf("the tree is %s, want %s", h.Tree, tree)
	}
	testkit.Shell(t, r.Top, "git checkout -q --detach")
	if d, err := r.Head(ctx); err != nil || d.Branch != "" || d.Commit != h.Commit || d.Tree != h.Tree {
		t.Errorf("detached: %+v, %v", d, err)
	}
	opened("detached")
	testkit.Shell(t, r.Top, "git checkout -q --orphan new/born")
	if u, err := r.Head(ctx); err != nil || u.Branch != "new/born" || u.Commit != "" {
		t.Errorf("unborn: %+v, %v", u, err)
	}
	opened("unborn")
	if _, _, err := r.AtHead(ctx, newRepo(t).Top); !errors.Is(err, ErrNoRepo) {
		t.Errorf("a copy of another repository: %v", err)
	}
}

func TestNamesOfCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, bad := range []string{"", "-h", "--all", "nobody", "HEAD:a", "a\x00b", "main..main", "HEAD^{blob}"} {
		if id, err := r.Commit(t.Context(), bad); !errors.Is(err, ErrNoRef) {
			t.Errorf("%q: %q, %v", bad, id, err)
		}
	}
	tree, err := r.TreeOf(t.Context(), "main")
	if err != nil || tree != testkit.Shell(t, r.Top, "git rev-parse HEAD^{tree}") {
		t.Errorf("tree %q, %v", tree, err)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	first := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	second := testkit.Shell(t, r.Top, "git commit -q --allow-empty -m second; git rev-parse HEAD")
	const ref = "refs/heads/x/y"
	steps := []struct {
		step  Step
		moved bool
	}{
		{Step{From: first, To: second}, true}, // it does not exist
		{Step{To: first}, false},
		{Step{To: second}, true}, // it exists
		{Step{From: second, To: first}, true},
		{Step{From: first, To: second}, false},
		{Step{From: first}, true},
		{Step{From: second}, false},
	}
	for i, s := range steps {
		s.step.Why = "test"
		if err := r.Move(ctx, ref, s.step); errors.Is(err, ErrMoved) != s.moved || !s.moved && err != nil {
			t.Errorf("step %d %+v: %v", i, s.step, err)
		}
	}
	if err := r.Move(ctx, "main", Step{From: second, To: first}); !errors.Is(err, ErrNoRef) {
		t.Errorf("a short name: %v", err)
	}
	if now := testkit.Shell(t, r.Top, "git rev-parse main"); now != second {
		t.Errorf("main is on %s", now)
	}
}

func TestHoldsAndMergeBase(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	base := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	side := testkit.Shell(t, r.Top, "git checkout -q -b side; git commit -q --allow-empty -m s; git rev-parse HEAD")
	main := testkit.Shell(t, r.Top, "git checkout -q main; git commit -q --allow-empty -m m; git rev-parse HEAD")
	if ok, err := r.Holds(ctx, side, base); err != nil || !ok {
		t.Errorf("side holds base: %v, %v", ok, err)
	}
	if ok, err := r.Holds(ctx, main, side); err != nil || ok {
		t.Errorf("main holds side: %v, %v", ok, err)
	}
	if b, err := r.MergeBase(ctx, main, side); err != nil || b != base {
		t.Errorf("merge base %q, %v", b, err)
	}
	orphan := testkit.Shell(t, r.Top, "git commit-tree HEAD^{tree} -m alone")
	if b, err := r.MergeBase(ctx, main, orphan); err != nil || b != "" {
		t.Errorf("nothing in common: %q, %v", b, err)
	}
	if n, err := r.Ahead(ctx, "main", "side"); err != nil || n != 1 {
		t.Errorf("ahead by %d, %v", n, err)
	}
	branches, err := r.Branches(ctx, "side")
	if err != nil || len(branches) != 1 || branches["side"] != side {
		t.Errorf("branches %v, %v", branches, err)
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("the team ends")
	cancel(because)
	if _, err := (Git{}).Open(ctx, newRepo(t).Top); !errors.Is(err, because) {
		t.Errorf("%v", err)
	}
}

// TestWaitsForALock: whoever works in the repository holds its locks for moments.
func TestWaitsForALock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	lock := filepath.Join(r.GitDir, "refs", "heads", "late.lock")
	testkit.Must(t, os.WriteFile(lock, nil, 0o600))
	commit := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	done := make(chan error, 1)
	go func() {
		done <- r.Move(context.WithoutCancel(t.Context()), "refs/heads/late", Step{To: commit, Why: "test"})
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // long enough for a first try
	}
	testkit.Must(t, os.Remove(lock))
	testkit.Must(t, <-done)
}

// TestInRepository: what git takes for no repository is none.
func TestInRepository(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"folder": {"ours/.git/HEAD"}, "file": {"ours/.git"}, "none": {"ours/a"}, "empty": {"ours/.git/.keep"},
	} {
		top := t.TempDir()
		for _, file := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(top, file)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(top, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		below := filepath.Join(top, "ours", "below")
		if err := os.Mkdir(below, 0o700); err != nil {
			t.Fatal(err)
		}
		if got, want := InRepository(below), name == "folder" || name == "file"; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
