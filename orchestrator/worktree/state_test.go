package worktree

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// asGitAdd is the tree that `git add --all` makes of a clean clone's files.
func asGitAdd(t *testing.T, r *Repo) string {
	t.Helper()
	index := filepath.Join(testkit.Folder(t), "index")
	return testkit.Shell(t, r.Top, `export GIT_INDEX_FILE='`+index+`'; git read-tree HEAD; git add -A 2>/dev/null; git write-tree`)
}

// TestState holds what State finds against git's own commands, in working copies
// in every kind of disorder.
func TestState(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"nothing":            `true`,
		"changed":            `echo 4 >>a`,
		"staged":             `echo 4 >>a; git add a`,
		"staged and changed": `echo 4 >>a; git add a; echo 5 >>a`,
		"new":                `mkdir -p d/e; echo x >d/e/f`,
		"ignored":            `echo x >x.log`,
		"deleted":            `rm a`,
		"deleted, staged":    `git rm -q a`,
		"mode":               `chmod +x a`,
		"link":               `rm a; ln -s /etc/passwd a`,
		"link to nothing":    `ln -s nowhere l`,
		"file to folder":     `rm a; mkdir a; echo x >a/b`,
		"folder to link":     `mkdir d; echo x >d/x; git add d; git commit -qm d; mv d e; ln -s e d`,
		"folder to file":     `mkdir d; echo x >d/x; git add d; git commit -qm d; rm -r d; echo d >d`,
		"names":              "echo x >'with space'; echo x >\"$(printf 'new\\nline')\"; echo x >-n; echo x >':(top)x'; echo x >'*'; echo x >'\"q\"'; echo x >'ä'",
		"conflict":           `git checkout -q -b o; echo o >a; git commit -qam o; git checkout -q main; echo m >a; git commit -qam m; git merge -q o || true`,
		"crlf":               `printf '*.txt text eol=crlf\n' >.gitattributes; printf '1\r\n2\r\n' >x.txt; printf '1\n2\r\n' >y.txt`,
		"detached":           `git checkout -q --detach; echo x >x`,
		"unborn":             `git checkout -q --orphan o; git rm -qrf .; echo x >x`,
		"intent":             `echo x >x; git add -N x`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			testkit.Shell(t, r.Top, script)
			before := testkit.Shell(t, r.Top, `git status --porcelain; cat .git/index | cksum`)
			got := state(t, r)
			if after := testkit.Shell(t, r.Top, `git status --porcelain; cat .git/index | cksum`); after != before {
				t.Errorf("the copy has changed: %s, was %s", after, before)
			}
			want := ""
			if name == "unborn" {
				want = testkit.Shell(t, r.Top, `git add -A; git write-tree`)
			} else {
				want = asGitAdd(t, r)
			}
			if got.Tree != want || got.Beyond != nil {
				t.Errorf("%+v, want %s:\n%s", got, want, testkit.Shell(t, r.Top, `git diff --stat `+got.Tree+" "+want))
			}
		})
	}
}

// TestStateHidesNothing: a member that marks a file as unchanged changes it for the
// gates that run on the disk, and must not change it unseen.
func TestStateHidesNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	clean := state(t, r)
	testkit.Shell(t, r.Top, `git update-index --assume-unchanged a; git config core.ignoreStat true; git config core.trustctime false; echo evil >>a`)
	if got := state(t, r); got.Tree == clean.Tree {
		t.Error("a file marked as unchanged has changed unseen")
	}
	testkit.Shell(t, r.Top, `git update-index --no-assume-unchanged a; git checkout -q a; git update-index --skip-worktree a; echo evil >>a`)
	if got := state(t, r); got.Tree == clean.Tree {
		t.Error("a file marked as left out has changed unseen")
	}
	testkit.Shell(t, r.Top, `git update-index --no-skip-worktree a; git checkout -q a; echo kept >x.log; git add -f x.log`)
	if got := state(t, r); got.Tree == clean.Tree {
		t.Error("an ignored file that was added is left out")
	}
}

// TestStateKeepsAnIndex: with an index that is kept, each state is that without.
func TestStateKeepsAnIndex(t *testing.T) {
	t.Parallel()
	r, index := newRepo(t), filepath.Join(testkit.Folder(t), "index")
	for _, script := range []string{
		`true`, `echo 1 >>a`, `echo 1 >b`, `git add -A; git commit -qm b`, `rm b`, `git checkout -q HEAD~1 2>&1 || git checkout -qf HEAD~1`,
		`git checkout -qf main`, `echo y >y.log; git add -f y.log; git commit -qm ignored`, `printf 'garbage' >'` + index + `'`, `git mv a z`,
	} {
		testkit.Shell(t, r.Top, script)
		got, err := r.State(t.Context(), index)
		testkit.Must(t, err)
		if want := state(t, r); got.Tree != want.Tree {
			t.Errorf("after %q: %s, want %s", script, got.Tree, want.Tree)
		}
	}
}

func TestStateBeyond(t *testing.T) {
	t.Parallel()
	r := add(t, newRepo(t), "b")
	testkit.Shell(t, r.Top, `git init -q "own repo"; echo x >"own repo/x"; git init -q deep/er; cd deep/er; echo y >y; git add y; git commit -qm y`)
	got := state(t, r)
	if want := []string{"deep/er", "own repo"}; !reflect.DeepEqual(got.Beyond, want) {
		t.Errorf("beyond %q", got.Beyond)
	}
	if err := r.Rescue(t.Context(), "refs/covey/rescue/x", "rescue"); err == nil || !strings.Contains(err.Error(), "deep/er") {
		t.Errorf("it was rescued without them: %v", err)
	}
}

func TestStateSparse(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `mkdir in out; echo i >in/f; echo o >out/f; git add -A; git commit -qm two; git sparse-checkout set in`)
	clean := testkit.Shell(t, r.Top, "git rev-parse HEAD^{tree}")
	r = open(t, r.Top)
	if state(t, r).Tree != clean {
		t.Fatal("files that were left out count as deleted")
	}
	testkit.Shell(t, r.Top, `echo more >in/f`)
	if got := state(t, r).Tree; got == clean || testkit.Shell(t, r.Top, "git ls-tree -r --name-only "+got+" out") != "out/f" {
		t.Error("the change is not in the tree, or more is missing")
	}
}

func TestStateWithSubmodules(t *testing.T) {
	t.Parallel()
	r, other := newRepo(t), newRepo(t)
	testkit.Shell(t, r.Top, `git -c protocol.file.allow=always submodule --quiet add '`+other.Top+`' sub; git commit -qm sub`)
	clean := state(t, r)
	if clean.Tree != testkit.Shell(t, r.Top, "git rev-parse HEAD^{tree}") {
		t.Error("a clean submodule is a change")
	}
	testkit.Shell(t, r.Top, `cd sub; echo x >>a; git commit -qam in-sub`)
	if got := state(t, r); got.Tree == clean.Tree || got.Tree != asGitAdd(t, r) {
		t.Error("a submodule's new commit is not in the tree")
	}
	copy := add(t, r, "b") // its submodule is not there
	if got := state(t, copy); got.Tree != clean.Tree {
		t.Error("a submodule that is not checked out is a change")
	}
}

func TestCommitAllAndRescue(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	ana := add(t, r, "covey/crew/ana")
	first, err := ana.CommitAll(ctx, Commit{Message: "nothing"}, nil)
	if head, _ := ana.Head(ctx); err != nil || first != head {
		t.Fatalf("nothing to commit: %v, %v", first, err)
	}
	testkit.Shell(t, ana.Top, `echo 4 >>a; echo n >n; git add n`)
	before := testkit.Shell(t, ana.Top, `git status --porcelain`)
	testkit.Must(t, ana.Rescue(ctx, "refs/covey/rescue/crew/ana/1", "what ana had not committed\n\nmore"))
	rescue := testkit.Shell(t, r.Top, "git rev-parse refs/covey/rescue/crew/ana/1")
	if after := testkit.Shell(t, ana.Top, `git status --porcelain`); after != before {
		t.Errorf("the rescue has changed the copy: %s", after)
	}
	if got := testkit.Shell(t, r.Top, `git show --no-patch --format='%an %cn %s %P' `+rescue); got != "covey covey what ana had not committed "+first.Commit {
		t.Errorf("rescued as %q", got)
	}
	refs := testkit.Shell(t, r.Top, `git for-each-ref --format='%(refname) %(objectname)' refs/covey/rescue/crew`)
	if refs != "refs/covey/rescue/crew/ana/1 "+rescue {
		t.Errorf("kept: %s", refs)
	}
	commit, err := ana.CommitAll(ctx, Commit{Message: "work of ana", Author: Person{"ana", "ana@crew"}}, nil)
	testkit.Must(t, err)
	if head, _ := ana.Head(ctx); commit != head {
		t.Errorf("committed %v, and the head is %v", commit, head)
	}
	if got := testkit.Shell(t, ana.Top, `git status --porcelain; git log -1 --format='%H %an'; git stash list`); got != commit.Commit+" ana" {
		t.Errorf("after the commit: %q", got)
	}
	if read(t, ana.Top, "n") != "n\n" {
		t.Error("the files have changed")
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	if p, err := r.User(ctx); err != nil || p != (Person{}) {
		t.Errorf("nobody: %+v, %v", p, err)
	}
	testkit.Shell(t, r.Top, `git config user.name U; git config user.email u@x`)
	if p, err := r.User(ctx); err != nil || p != (Person{"U", "u@x"}) {
		t.Errorf("%+v, %v", p, err)
	}
	tree := testkit.Shell(t, r.Top, "git rev-parse HEAD^{tree}")
	id, err := r.CommitTree(ctx, Commit{Tree: tree, Message: "m", Author: Person{"ana", "ana@x"}})
	testkit.Must(t, err)
	if got := testkit.Shell(t, r.Top, "git show --no-patch --format='%an %ae %cn %ce' "+id); got != "ana ana@x U u@x" {
		t.Errorf("%q", got)
	}
}

func TestDirty(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `echo 4 >>a; mkdir d; echo x >d/x; echo x >"s p"; echo x >x.log`)
	all, err := r.Dirty(t.Context())
	if want := []string{" M a", "?? d/", "?? s p"}; err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%q, %v", all, err)
	}
	base := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	testkit.Shell(t, r.Top, `git -c user.name=u -c user.email=u@x commit -qam more; sed -i 1d a`)
	if added, removed, err := Lines(t.Context(), r, base); err != nil || added != 1 || removed != 1 {
		t.Errorf("+%d -%d, %v", added, removed, err)
	}
	testkit.Shell(t, r.Top, `git checkout -q a; git reset -q --soft `+base+`; git reset -q
		git stash -q -u || git -c user.name=u -c user.email=u@x stash -q -u`)
	if none, err := r.Dirty(t.Context()); err != nil || none != nil {
		t.Errorf("%q, %v", none, err)
	}
}
