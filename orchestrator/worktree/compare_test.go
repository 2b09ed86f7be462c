package worktree

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	testkit.Shell(t, r.Top, `mkdir "d d"; git mv a "d d/b"; ln -s x l; echo t >.gitignore; git add -A; git commit -qm second`)
	got, err := r.Changed(t.Context(), first, "HEAD")
	want := []Change{{".gitignore", 'M'}, {"a", 'D'}, {"d d/b", 'A'}, {"l", 'A'}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.Changed(t.Context(), first, first); err != nil || got != nil {
		t.Errorf("no change: %+v, %v", got, err)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	testkit.Shell(t, r.Top, `git config diff.external false; git config color.ui always; git config diff.noprefix true`)
	testkit.Shell(t, r.Top, `echo 4 >>a; echo x >b; git add -A; git commit -qm second`)
	patch, err := r.Diff(ctx, "HEAD~1", "HEAD", DiffOptions{})
	if err != nil || !strings.Contains(string(patch), "+++ b/a\n") || strings.Contains(string(patch), "\x1b") {
		t.Errorf("%s, %v", patch, err)
	}
	only, err := r.Diff(ctx, "HEAD~1", "HEAD", DiffOptions{Paths: []string{"b"}, Color: true})
	if err != nil || strings.Contains(string(only), "b/a") || !strings.Contains(string(only), "\x1b") {
		t.Errorf("%s, %v", only, err)
	}
	stat, err := r.Diff(ctx, "HEAD~1", "HEAD", DiffOptions{Stat: true})
	if err != nil || !strings.Contains(string(stat), "2 files changed") {
		t.Errorf("%s, %v", stat, err)
	}
}

// TestReplaced: git replace shows covey no other contents than are merged.
func TestReplaced(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	testkit.Shell(t, r.Top, `echo bad >b; git add b; git commit -qm second; git replace HEAD:b $(echo good | git hash-object -w --stdin)`)
	patch, err := r.Diff(ctx, "HEAD~1", "HEAD", DiffOptions{})
	if err != nil || !strings.Contains(string(patch), "+bad") {
		t.Errorf("%s, %v", patch, err)
	}
	if text := read(t, clone(t, r, "HEAD").Top, "b"); text != "bad\n" {
		t.Errorf("the copy has %q", text)
	}
}

// TestGrafted: no graft hides from covey which commits a branch has got.
func TestGrafted(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	first := testkit.Shell(t, r.Top, `git rev-parse HEAD`)
	testkit.Shell(t, r.Top, `git commit -q --allow-empty -m second; mkdir -p .git/info
		echo $(git rev-parse HEAD~ HEAD) > .git/info/grafts`)
	if list, err := r.Log(ctx, "HEAD", first); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	testkit.Shell(t, r.Top, `git branch clean; git branch clash
		sed -i s/1/one/ a; git commit -qam main
		git checkout -q clean; sed -i s/3/three/ a; git commit -qam clean
		git checkout -q clash; sed -i s/1/uno/ a; echo n >"n n"; git add -A; git commit -qam clash
		git checkout -q main; echo dirty >>a`)
	m, err := r.Merge(ctx, "main", "clean")
	if err != nil || m.Conflicts != nil || testkit.Shell(t, r.Top, "git show "+m.Tree+":a") != "one\n2\nthree" {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = r.Merge(ctx, "main", "clash")
	if err != nil || !reflect.DeepEqual(m.Conflicts, []string{"a"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if read(t, r.Top, "a") != "one\n2\n3\ndirty\n" {
		t.Error("a merge has touched files")
	}
	if _, err := r.Merge(ctx, "main", "nobody"); err == nil {
		t.Error("a branch that is not there was merged")
	}
	alone := testkit.Shell(t, r.Top, "git commit-tree HEAD^{tree} -m alone")
	if _, err := r.Merge(ctx, "main", alone); err == nil {
		t.Error("histories with nothing in common were merged")
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	testkit.Shell(t, r.Top, "echo x >\"$(printf 'new\\nline')\"; printf '\\000bin' >-b; git add -A; git commit -qm names")
	for path, want := range map[string]string{"a": "1\n2\n3\n", "new\nline": "x\n", "-b": "\x00bin"} {
		if got, err := r.File(ctx, "HEAD", path); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"missing", "", "../a"} {
		if _, err := r.File(ctx, "HEAD", path); !errors.Is(err, ErrNoRef) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestTrackedAndIgnored(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	testkit.Shell(t, r.Top, `mkdir d e; echo x >d/x; echo x >e/x.log; git add -A; git commit -qm d`)
	for folder, want := range map[string]bool{"": true, "d": true, "e": false, "nowhere": false, "a": false} {
		if got, err := r.Tracked(ctx, "HEAD", folder); err != nil || got != want {
			t.Errorf("%q: %v, %v", folder, got, err)
		}
	}
	got, err := r.Ignored(ctx, []string{"e/x.log", "d/x", "n\nl.log", "-z.log"})
	if err != nil || !reflect.DeepEqual(got, map[string]bool{"e/x.log": true, "n\nl.log": true, "-z.log": true}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := r.Ignored(ctx, []string{"d/x"}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTopOf: a repository is that of a folder if it has files of the folder.
func TestTopOf(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	testkit.Shell(t, r.Top, `mkdir -p d/e new own/x; echo x >d/e/x; git add -A; git commit -qm d; git init -q own`)
	for folder, want := range map[string]string{"": "", "d/e": "", "d": "", "new": "new", "own": "own", "own/x": "own/x"} {
		if got := (Git{}).TopOf(ctx, filepath.Join(r.Top, folder)); got != filepath.Join(r.Top, want) {
			t.Errorf("%q: %s", folder, got)
		}
	}
	if dir := t.TempDir(); (Git{}).TopOf(ctx, dir) != dir {
		t.Error("a folder without a repository has a top elsewhere")
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	r := newRepo(t) // "1\n2\n3\n" and "*.log\n"
	if n, err := r.Size(t.Context(), "HEAD"); err != nil || n != 12 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := r.Size(t.Context(), "nobody"); err == nil {
		t.Error("a commit that is not there has a size")
	}
}
