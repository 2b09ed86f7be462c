package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// jobs are ordinary work with git, in a copy whose repository has the branches main and other and the
// tag v1.
var jobs = []struct{ name, script string }{
	{"status", "git status -s"},
	{"add and commit", "echo x >>f2; git add -A; git commit -qm one"},
	{"amend", "echo y >>f2; git commit -qa --amend -m uno"},
	{"log and diff", "git log --oneline; git diff HEAD~1"},
	{"stash", "echo s >>f3; git stash -q; git stash pop -q; git checkout -q f3"},
	{"a branch below the team's", "git checkout -q -b covey/crew/ana2; git checkout -q -; git branch -q -D covey/crew/ana2"},
	{"a branch of its own", "git checkout -q -b try; echo t >>f4; git commit -qam t; git checkout -q -"},
	{"tag", "git tag mine; test $(git describe --tags v1) = v1"},
	{"merge", "git merge -q --no-edit other"},
	{"rebase", "echo z >>f5; git commit -qam two; git rebase -q main"},
	{"rebase in steps", "git rebase -q -i HEAD~1 --exec true"},
	{"cherry-pick", "git checkout -q -b pick v1; git cherry-pick -x other >/dev/null; git checkout -q -; git branch -q -D pick"},
	{"revert", "git revert --no-edit HEAD >/dev/null"},
	{"reset", "git reset -q --hard HEAD~1"},
	{"fetch", "git fetch -q; git fetch -q covey; git rev-parse origin/main covey/main"},
	{"automatic gc", "for i in 1 2 3; do echo $i >g$i; done; git add -A; git commit -qm g; git -c gc.auto=1 -c gc.autoDetach=false gc -q --auto"},
	{"gc", "git gc -q"},
	{"repack", "git repack -q -d"},
	{"pack-refs", "git pack-refs --all"},
	{"config", "git config alias.z status; git z -s"},
	{"worktree list", "git worktree list"},
	{"worktree add", `git worktree add -q -b scratch "$T/wt"; git worktree remove --force "$T/wt"`},
	{"bisect", "git bisect start HEAD HEAD~1 >/dev/null; git bisect reset"},
	{"notes", "git notes add -m n"},
	{"reflog", "git reflog"},
	{"clean", "touch junk; git clean -qfd; test ! -e junk"},
	{"blame and grep", "git blame f1; git grep -q line"},
	{"apply", `echo q >>f6; git diff >"$T/p"; git checkout -q f6; git apply "$T/p"; git checkout -q f6`},
	{"archive", `git archive HEAD -o "$T/a.tar"`},
	{"clone", `git clone -q . "$T/cl"`},
	{"the settings", "test \"$(git config user.name)\" = op; test -z \"$(git config core.hooksPath)\"; ! git config --get-regexp 'secret|extraheader'"},
	{"switch to main and back", "git checkout -q main; git checkout -q -"},
}

// newBusy is a repository with packed references, a remote, a branch, a tag and hooks.
func newBusy(t *testing.T) *Repo {
	t.Helper()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `for i in 1 2 3 4 5 6 7 8; do echo "line $i" >f$i; done; git add -A; git commit -qm files; git tag -a -m v1 v1
		git checkout -q -b other; echo other >>f7; git commit -qam other; git checkout -q main; echo two >>f1; git commit -qam two
		git init -q --bare "$PWD.up"; git remote add origin "../$(basename "$PWD").up"; git push -q origin main; git fetch -q
		git config user.name op; git config user.email op@x; git config core.hooksPath /nowhere
		git config http.https://example.com/.extraheader 'AUTHORIZATION: basic secret'; git config credential.helper 'store --file secret'
		git config remote.more.url https://joe:secret@example.com/x.git; git pack-refs --all`)
	return open(t, r.Top)
}

// TestGitJobs: whatever a member does with git works in its copy, before and after it is brought to
// the operator's repository.
func TestGitJobs(t *testing.T) {
	t.Parallel()
	r := newBusy(t)
	ana := add(t, r, "covey/crew/ana")
	for _, j := range jobs {
		said := testkit.Shell(t, ana.Top, "export GIT_EDITOR=true T='"+testkit.Folder(t)+"'\n"+j.script)
		for text := range strings.Lines(said) {
			if strings.Contains(text, "error:") || strings.Contains(text, "fatal:") || strings.Contains(text, "warning:") {
				t.Errorf("%s: %s", j.name, text)
			}
		}
	}
	publish(t, ana)
	if got := testkit.Shell(t, r.Top, "git status --porcelain; git stash list; git tag; git log -1 --format=%s covey/crew/ana"); got != "v1\ng" {
		t.Errorf("the operator's repository: %s", got)
	}
	testkit.Shell(t, r.Top, "git fsck --strict --no-dangling")
}

// publish publishes what a copy has checked out.
func publish(t *testing.T, c *Repo) string {
	t.Helper()
	head, err := c.Head(t.Context())
	testkit.Must(t, err)
	branch, err := c.Publish(t.Context(), head)
	testkit.Must(t, err)
	if got := testkit.Shell(t, c.lent.base.repo.Top, "git rev-parse "+c.lent.base.in(c.lent.name)); got != head.Commit {
		t.Errorf("%s is published, not %s", got, head.Commit)
	}
	return branch
}

// share gives a copy what has moved.
func share(t *testing.T, c *Repo) {
	t.Helper()
	head, err := c.Head(t.Context())
	testkit.Must(t, err)
	testkit.Must(t, c.Share(t.Context(), head))
}

// TestKindsOfRepositories: copies of all kinds of repositories have the same files, and work in them is
// brought back.
func TestKindsOfRepositories(t *testing.T) {
	t.Parallel()
	const commit = `echo mine >mine; git add mine; git commit -qm mine`
	for name, c := range map[string]struct {
		prepare, open string // open: the workspace, relative to where prepare runs
		check         string // in the copy
	}{
		"shallow": {`git clone -q --depth 1 "file://$PWD" ws`, "ws", `test "$(git rev-list --count HEAD)" = 2; git fsck --connectivity-only`},
		"shallow, deepened since": {`git clone -q --depth 1 "file://$PWD" ws`, "ws",
			`git -C $W fetch -q --unshallow`},
		"complete, but not the member's own": {`git clone -q . theirs; git -C theirs commit -q --allow-empty -m a; git -C theirs commit -q --allow-empty -m b`, ".",
			`git fetch -q --depth 1 "file://$W/theirs" HEAD:refs/theirs/x; test "$(git rev-list --count refs/theirs/x)" = 1`},
		"partial": {`git config uploadpack.allowFilter true; git clone -q --filter=blob:none "file://$PWD" ws`, "ws",
			`git show HEAD~1:a; test "$(git config remote.origin.promisor)" = true`},
		"sparse":                    {`git clone -q . ws; cd ws; git sparse-checkout set in`, "ws", `test -e in/f; test ! -e out/f; test -z "$(git status --porcelain)"`},
		"relative alternate":        {`git clone -q . ws; cd ws; rm -rf .git/objects/??  .git/objects/pack/*; echo ../../../.git/objects >.git/objects/info/alternates`, "ws", ""},
		"absolute alternate":        {`git clone -q --shared . ws`, "ws", ""},
		"alternate of an alternate": {`git clone -q --shared . a1; git clone -q --shared a1 a2; git clone -q --shared a2 ws`, "ws", ""},
		"a linked worktree":         {`git worktree add -q -b side ws`, "ws", ""},
		"a bare one's worktree":     {`git clone -q --bare . b.git; git -C b.git worktree add -q -b side ../ws main`, "ws", ""},
		"a bare one's core.worktree": {`git clone -q --bare . b.git; mkdir ws; echo "gitdir: ../b.git" >ws/.git
			git -C b.git config core.bare false; git -C b.git config core.worktree "$PWD/ws"; cd ws; git reset -q --hard`, "ws", `test -z "$(git config core.worktree)"`},
		"its own git folder elsewhere": {`git clone -q --separate-git-dir g . ws`, "ws", ""},
		"SHA-256":                      {`git init -q --object-format=sha256 -b main ws; cd ws; cp ../a .; git add a; git commit -qm a; echo 2 >>a; git commit -qam b`, "ws", `test $(git rev-parse HEAD | wc -c) = 65`},
		"a folder below":               {`true`, "in", `test -e in/f`},
		"exclusions": {`echo '*.mine' >.git/info/exclude; echo 'a binary' >.git/info/attributes`, ".",
			`touch x.mine; test -z "$(git status --porcelain)"; git check-attr binary a | grep -q 'binary: set'`},
		"a submodule": {`git init -q -b main sub; git -C sub commit -q --allow-empty -m sub; git -c protocol.file.allow=always submodule --quiet add ./sub lib; git commit -qm lib`, ".",
			`git -c protocol.file.allow=always submodule --quiet update --init; test -e lib/.git; test -z "$(git status --porcelain)"`},
		"many references": {`i=0; while [ $i -lt 300 ]; do echo "create refs/heads/b$i HEAD"; echo "create refs/tags/t$i HEAD"; i=$((i+1)); done | git update-ref --stdin`, ".",
			`test $(git tag | wc -l) = 300; git rev-parse -q --verify covey/b299; git rev-parse -q --verify b299`},
		"names like ours": {`git update-ref refs/remotes/covey/main HEAD~1; git remote add covey ../x; git branch covey/other/x`, ".",
			`test "$(git rev-parse covey/main)" = "$(git -C $W rev-parse main)"; ! git rev-parse -q --verify refs/heads/covey/other/x`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newRepo(t)
			testkit.Shell(t, first.Top, `mkdir in out; echo i >in/f; echo o >out/f; git add -A; git commit -qm two; printf 'ws/\na?/\nb.git/\ng/\nsub/\ntheirs/\n' >.git/info/exclude`)
			testkit.Shell(t, first.Top, c.prepare)
			r := open(t, filepath.Join(first.Top, c.open))
			ana := add(t, r, "covey/crew/ana")
			same := `git ls-tree -r HEAD; find . -name .git -prune -o -type f -print | grep -v '^./\(ws\|a[0-9]\|b.git\|g\|sub\|theirs\)/' | sort`
			if got, want := testkit.Shell(t, ana.Top, same), testkit.Shell(t, r.Top, same); got != want && name != "a submodule" {
				t.Errorf("the copy has\n%s\nand the workspace\n%s", got, want)
			}
			testkit.Shell(t, ana.Top, commit+"\nW='"+r.Top+"'\n"+c.check)
			publish(t, ana)
			testkit.Shell(t, r.Top, `test "$(git log -1 --format=%s covey/crew/ana)" = mine; test -z "$(git status --porcelain)"; git fsck --connectivity-only`)
			share(t, ana)
			testkit.Shell(t, ana.Top, "git fetch -q covey; git fsck --connectivity-only")
			if name == "shallow, deepened since" && testkit.Shell(t, ana.Top, "git rev-parse --is-shallow-repository; git rev-list --count HEAD~1") != "false\n2" {
				t.Error("the copy has not been deepened")
			}
			testkit.Must(t, ana.lent.base.Discard(t.Context(), ana.Top))
			testkit.Must(t, ana.lent.base.Drop(t.Context()))
			testkit.Shell(t, r.Top, `test -z "$(git for-each-ref refs/covey)"; git fsck --connectivity-only`)
			clone(t, r, "HEAD")
		})
	}
}

// TestLFS: files of LFS are there in a copy, and those that it makes in the operator's repository.
func TestLFS(t *testing.T) {
	if _, err := Git.run(Git{}, t.Context(), call{args: []string{"lfs", "version"}, dir: "."}); err != nil {
		t.Skip("git-lfs is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(testkit.Folder(t), "config"))
	testkit.Shell(t, testkit.Folder(t), "git lfs install --skip-repo")
	r := newRepo(t)
	testkit.Shell(t, r.Top, `git lfs track '*.bin'; echo big >x.bin; git add -A; git commit -qm bin`)
	ana := add(t, r, "covey/crew/ana")
	if got := read(t, ana.Top, "x.bin"); got != "big\n" {
		t.Errorf("the copy has %q", got)
	}
	testkit.Shell(t, ana.Top, `echo mine >y.bin; git add y.bin; git commit -qm mine`)
	publish(t, ana)
	testkit.Shell(t, r.Top, `git merge -q covey/crew/ana; test "$(cat y.bin)" = mine`)
}

// TestStorageOfLFS: copies use the folder where the operator's repository has the files.
func TestStorageOfLFS(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{"": ".git/lfs", "git config lfs.storage stuff": ".git/stuff", "git config lfs.storage /stuff": "/stuff"} {
		r := newRepo(t)
		testkit.Shell(t, r.Top, "git config filter.lfs.clean 'git-lfs clean -- %f'\n"+set)
		if !filepath.IsAbs(want) {
			want = filepath.Join(r.Top, want)
		}
		if got := testkit.Shell(t, add(t, r, "b").Top, "git config lfs.storage"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOperatorBeside: nothing that the operator does in its repository breaks a copy, or its base.
func TestOperatorBeside(t *testing.T) {
	t.Parallel()
	const forget = "git reflog expire --expire=now --expire-unreachable=now --all; git gc -q --prune=now"
	r := newBusy(t)
	testkit.Shell(t, r.Top, "git checkout -q -b doomed; git commit -q --allow-empty -m doomed; git tag -a -m t gone; git checkout -q main")
	ana := add(t, r, "covey/crew/ana")
	whole := func(what string) {
		t.Helper()
		for _, dir := range []string{ana.Top, ana.lent.base.dir, r.Top} {
			testkit.Shell(t, dir, "git fsck --connectivity-only --no-dangling # "+what)
		}
	}
	testkit.Shell(t, r.Top, "git branch -q -D doomed other; git tag -d gone; git update-ref -d refs/remotes/origin/main; git pack-refs --all; "+forget)
	whole("branches and tags are deleted")
	testkit.Shell(t, ana.Top, "git fetch -q covey; git merge -q --no-edit other; git log doomed gone; git branch keeps doomed")
	share(t, ana)
	whole("the copy has been told")
	// The commit that the copy began from is rewritten.
	testkit.Shell(t, r.Top, "git commit -q --amend -m rewritten; "+forget)
	whole("the base is gone")
	testkit.Shell(t, ana.Top, "echo x >x; git add x; git commit -qm work")
	publish(t, ana)
	// What was published is given up, and stays on another branch of the copy.
	testkit.Shell(t, ana.Top, "git branch aside; git reset -q --hard HEAD~1; echo y >y; git add y; git commit -qm again; git gc -q --prune=now")
	publish(t, ana)
	testkit.Shell(t, r.Top, "git branch -q -D covey/crew/ana; "+forget)
	whole("the copy's branch is deleted")
	testkit.Shell(t, ana.Top, "echo z >z; git add z; git commit -qm more")
	publish(t, ana)
	if got := testkit.Shell(t, r.Top, "git log -1 --format=%s covey/crew/ana"); got != "more" {
		t.Errorf("the branch is at %q", got)
	}
	testkit.Shell(t, r.Top, "git checkout -q covey/crew/ana; git rebase -q --onto main HEAD~1; git checkout -q main; "+forget)
	mine := testkit.Shell(t, r.Top, "git rev-parse covey/crew/ana")
	testkit.Shell(t, ana.Top, "echo w >w; git add w; git commit -qm still")
	publish(t, ana)
	whole("the operator has rebased it")
	if got := testkit.Shell(t, r.Top, "git rev-parse covey/crew/ana"); got != mine {
		t.Error("a branch that the operator has moved was moved again")
	}
	testkit.Must(t, ana.lent.base.Discard(t.Context(), ana.Top))
	testkit.Must(t, ana.lent.base.Drop(t.Context()))
	if got := testkit.Shell(t, r.Top, "git for-each-ref refs/covey"); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestPinsAreFew: a branch that only moves on leaves no pin behind, however often, and each git looks into few packs.
func TestPinsAreFew(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ana := add(t, r, "covey/crew/ana")
	testkit.Shell(t, r.Top, fmt.Sprintf(
		"for i in $(seq %d); do git commit -q --allow-empty -m $i; git repack -q; done; echo x | git hash-object -w --stdin", mostPacks))
	for range 5 {
		testkit.Shell(t, r.Top, "git commit -q --allow-empty -m more")
		testkit.Shell(t, ana.Top, "git commit -q --allow-empty -m mine")
		publish(t, ana)
		share(t, ana)
	}
	if got := strings.Fields(testkit.Shell(t, r.Top, "git for-each-ref --format='%(objectname)' refs/covey/base")); len(got) != 2 {
		t.Errorf("%d pins", len(got))
	}
	if got, err := filepath.Glob(filepath.Join(r.Common, "objects", "pack", "*.pack")); len(got) > 6 || err != nil {
		t.Errorf("%d packs, %v", len(got), err)
	}
	testkit.Shell(t, r.Top, "git fsck --strict --no-dangling; echo x | git hash-object --stdin | git cat-file --batch-check | grep blob")
	if got := testkit.Shell(t, ana.Top, "git rev-parse main covey/main"); got != strings.Repeat(testkit.Shell(t, r.Top, "git rev-parse main")+"\n", 2)[:len(got)] {
		t.Errorf("the copy's main is %s", got)
	}
}

// TestShare: a copy follows the operator's branches, but for those that its member has moved or has
// checked out.
func TestShare(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, "for b in follow mine out gone dir; do git branch $b; done; git tag old")
	ana := add(t, r, "covey/crew/ana")
	testkit.Shell(t, ana.Top, "git checkout -q out; git commit -q --allow-empty -m hers; git branch -f mine; git reset -q --hard HEAD~1; git branch own")
	testkit.Shell(t, r.Top, `git commit -q --allow-empty -m moved; for b in follow mine out; do git branch -f $b; done
		git branch -D gone dir; git branch dir/below; git tag new; git branch fresh; git update-ref refs/remotes/origin/x HEAD`)
	was := testkit.Shell(t, ana.Top, "git rev-parse out mine own")
	share(t, ana)
	if got := testkit.Shell(t, ana.Top, "git rev-parse out mine own"); got != was {
		t.Errorf("the member's own: %s, was %s", got, was)
	}
	tip := testkit.Shell(t, r.Top, "git rev-parse HEAD")
	for _, ref := range []string{"main", "follow", "dir/below", "fresh", "new", "covey/mine", "covey/out", "origin/x"} {
		if got := testkit.Shell(t, ana.Top, "git rev-parse "+ref+" --"); !strings.HasPrefix(got, tip) {
			t.Errorf("%s: %s", ref, got)
		}
	}
	if got := testkit.Shell(t, ana.Top, "git branch --list gone dir; git status --porcelain"); got != "" {
		t.Errorf("still there: %s", got)
	}
	if strays, err := ana.Strays(t.Context()); err != nil || len(strays) != 1 || strays[0].Name != "mine" {
		t.Errorf("strays: %+v, %v", strays, err)
	}
}

// TestTwoTeams on one repository do not know each other.
func TestTwoTeams(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	dir := testkit.Folder(t)
	var copies []*Repo
	for _, team := range []string{"one", "two"} {
		b := r.Base(filepath.Join(dir, team, "base.git"), team)
		path, branch := filepath.Join(dir, team, "worktrees", "ana"), "covey/"+team+"/ana"
		testkit.Must(t, b.Add(ctx, New{Path: path, Branch: branch, Commit: "main"}))
		c, _, err := b.Open(ctx, path, branch)
		testkit.Must(t, err)
		testkit.Shell(t, c.Top, "git commit -q --allow-empty -m "+team)
		publish(t, c)
		copies = append(copies, c)
	}
	testkit.Must(t, errors.Join(copies[0].lent.base.Discard(ctx, copies[0].Top), copies[0].lent.base.Drop(ctx)))
	testkit.Shell(t, r.Top, "git branch -D covey/two/ana; git commit -q --amend -m other; git reflog expire --expire=now --all; git gc -q --prune=now")
	testkit.Shell(t, copies[1].Top, "git fsck --connectivity-only; git commit -q --allow-empty -m more")
	publish(t, copies[1])
}

// TestNotAClone: what a member makes of the .git of its copy is not taken for it.
func TestNotAClone(t *testing.T) {
	t.Parallel()
	r, other := newRepo(t), newRepo(t)
	for what, script := range map[string]string{
		"another repository": "rm -rf .git; printf 'gitdir: " + other.Top + "/.git' >.git",
		"a link":             "rm -rf .git; ln -s " + r.Top + "/.git .git",
		"nothing":            "rm -rf .git",
		"files elsewhere":    "git config core.worktree " + other.Top,
		"bare":               "git config core.bare true",
	} {
		c := add(t, r, "covey/"+strings.ReplaceAll(what, " ", "-"))
		testkit.Shell(t, c.Top, script)
		if _, _, err := c.lent.base.Open(t.Context(), c.Top, "x"); !errors.Is(err, ErrNoRepo) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPublishRefuses objects that are not in order.
func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ana := add(t, r, "covey/crew/ana")
	testkit.Shell(t, ana.Top, `b=$(echo x | git hash-object -w --stdin)
		tree=$(printf "100644 blob $b\t.git\n" | git mktree); git update-ref HEAD $(git commit-tree -p HEAD -m evil $tree)`)
	head, err := ana.Head(t.Context())
	testkit.Must(t, err)
	if _, err := ana.Publish(t.Context(), head); err == nil {
		t.Error("a file named .git was brought in")
	}
	if _, err := r.Commit(t.Context(), head.Commit); !errors.Is(err, ErrNoRef) {
		t.Errorf("its commit is there: %v", err)
	}
}

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"https://joe:secret@example.com/x.git": "https://example.com/x.git", "https://token@example.com/x": "https://example.com/x",
		"http://h/x?private_token=1": "http://h/x", "ssh://git:secret@h:22/x": "ssh://git@h:22/x", "ssh://git@h/x": "ssh://git@h/x",
		"git@h:x/y.git": "git@h:x/y.git", "/a/b@c": "/a/b@c", "file:///a b": "file:///a b", "https://a b:c@h/x": "", "../up": "../up",
	} {
		if got := withoutPassword(value); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// TestCarried: a copy has the settings of the repository as git reads them, and none that may hold a
// password or places it elsewhere.
func TestCarried(t *testing.T) {
	t.Parallel()
	r := newBusy(t)
	testkit.Shell(t, r.Top, `git config alias.odd "$(printf '!echo "a\\b"\t# ;x\ny')"; git config 'branch.a"b\.c.description' d
		printf '[core]\n\tignorecase\n[merge "x"]\n\tname = "  sp  "\n' >>.git/config
		printf '[push]\n\tdefault = current\n' >.git/more; git config include.path more
		git config url.https://secret@h/.insteadOf x:; git config remote.origin.proxy http://u:secret@p; git config sendemail.smtpPass secret
		git config submodule.lib.url https://u:secret@h/lib; git config core.sshCommand secret; git config core.fsmonitor secret`)
	ana := add(t, r, "b")
	keys := `alias\.odd|branch\.a"b.*|core\.ignorecase|merge\.x\.name|push\.default`
	list := "git config --local --includes --get-regexp -z '^(" + keys + ")$' | sort -z | od -c"
	if got, want := testkit.Shell(t, ana.Top, list), testkit.Shell(t, r.Top, list); got != want || want == "0000000" {
		t.Errorf("the copy has\n%s\nand the repository\n%s", got, want)
	}
	said := read(t, ana.Top, ".git", "config")
	if strings.Contains(said, "secret") || strings.Contains(said, "nowhere") {
		t.Errorf("it has %s", said)
	}
	for key, want := range map[string]string{
		"remote.origin.url": r.Top + ".up", "remote.more.url": "https://example.com/x.git", "submodule.lib.url": "https://h/lib",
		"remote.covey.url": ana.lent.base.dir,
	} {
		if got := testkit.Shell(t, ana.Top, "git config "+key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	base, err := os.ReadFile(filepath.Join(ana.lent.base.dir, "config"))
	if err != nil || slices.ContainsFunc([]string{"remote", "secret", "user"}, func(s string) bool { return strings.Contains(string(base), s) }) {
		t.Errorf("the base has %s, %v", base, err)
	}
	if out, err := Git.run(Git{}, t.Context(), call{args: []string{"push", "covey", "HEAD:x"}, dir: ana.Top, env: []string{"GIT_ALLOW_PROTOCOL=file"}}); err == nil {
		t.Errorf("pushed to the base: %s", out)
	}
}
