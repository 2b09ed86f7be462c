package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// withEachGit runs a test with the git of the machine, and with the newer one in the
// folder that COVEY_NEW_GIT names: .ci/long sets it, since git 2.54 has hooks that
// configuration names, which no folder of hooks switches off.
func withEachGit(t *testing.T, test func(t *testing.T)) {
	t.Run("installed", test)
	t.Run("newer", func(t *testing.T) {
		dir := os.Getenv("COVEY_NEW_GIT")
		if dir == "" {
			t.Skip("COVEY_NEW_GIT names no folder with a git of 2.54 or newer")
		}
		t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		testkit.Must(t, Git{}.Require(t.Context()))
		test(t)
	})
}

// trap is a program that notes that it ran, and the file that it notes it in.
func trap(t *testing.T) (program, note string) {
	t.Helper()
	program, note = filepath.Join(testkit.Folder(t), "bad"), filepath.Join(testkit.Folder(t), "ran")
	testkit.Must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+note+"'\ncat\nexit 0\n"), 0o755))
	return program, note
}

// useAll does with a repository and a copy of it whatever covey does. Files x.* have
// filters that must not run.
func useAll(t *testing.T, r *Repo) {
	t.Helper()
	ctx := t.Context()
	ana := add(t, r, "covey/crew/ana")
	for _, c := range []*Repo{r, ana} {
		for _, name := range []string{"x.f", "x.ab", "x.w", "x.g"} {
			testkit.Must(t, os.WriteFile(filepath.Join(c.Top, name), []byte("4\n"), 0o600))
		}
		state(t, c)
		_, err := c.Differing(ctx, filepath.Join(testkit.Folder(t), "index"), "HEAD")
		testkit.Must(t, err)
	}
	_, err := ana.Dirty(ctx)
	testkit.Must(t, err)
	head, err := ana.CommitAll(ctx, Commit{Message: "all"}, nil)
	testkit.Must(t, err)
	_, err = ana.Publish(ctx, head)
	testkit.Must(t, err)
	testkit.Must(t, ana.Share(ctx, head))
	if err := ana.Rescue(ctx, "refs/covey/rescue/1", "rescue"); err == nil {
		t.Error("files that no commit may take were rescued")
	}
	_, err = r.Diff(ctx, "main", "other", DiffOptions{})
	testkit.Must(t, err)
	if m, err := r.Merge(ctx, "main", "other"); err != nil || len(m.Conflicts) != 1 {
		t.Errorf("a merge driver that must not run: %+v, %v", m, err)
	}
	tip := testkit.Shell(t, r.Top, "git -c core.hooksPath=/dev/null rev-parse main")
	scratch := clone(t, r, tip)
	testkit.Must(t, r.Update(ctx, scratch))
	testkit.Must(t, scratch.Switch(ctx, "other"))
	testkit.Must(t, scratch.Follow(ctx, "other"))
	testkit.Must(t, ana.lent.base.Discard(ctx, ana.Top))
	testkit.Must(t, ana.lent.base.Drop(ctx))
	testkit.Must(t, r.Move(ctx, "refs/heads/z", Step{To: tip, Why: "x"}))
	testkit.Must(t, r.Move(ctx, "refs/heads/z", Step{From: tip, Why: "x"}))
}

// newFiltered is a repository with files whose attributes name filters and drivers, and
// with a branch "other" that conflicts with main.
func newFiltered(t *testing.T) *Repo {
	t.Helper()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `printf '*.f filter=f diff=d merge=m\n*.g filter=g\n*.w filter=w\n*.ab filter=a=b\n' >.gitattributes
		for x in f g w ab; do echo 1 >x.$x; done; git add -A; git commit -qm attrs
		git checkout -q -b other; echo 2 >x.f; git commit -qam other; git checkout -q main; echo 3 >x.f; git commit -qam main`)
	return r
}

// hooksInConfig has every hook that there is run BAD (git 2.54).
const hooksInConfig = `
	for e in applypatch-msg post-checkout post-commit post-index-change post-merge post-rewrite pre-auto-gc pre-commit \
		pre-merge-commit prepare-commit-msg commit-msg reference-transaction; do git config --add hook.evil.event $e; done
	git config hook.evil.command BAD; git config hook.evil.enabled true; git config 'hook.a=b.event' reference-transaction
	git config 'hook.a=b.command' BAD
`

// TestHostileSettings is attack 47 of ADVERSARIAL.md: whatever a repository's own
// configuration names, nothing of it runs.
func TestHostileSettings(t *testing.T) {
	arm := `
		git config core.fsmonitor BAD; git config core.sshCommand BAD; git config core.editor BAD; git config core.pager BAD
		git config core.askPass BAD; git config credential.helper '!BAD'; git config gpg.program BAD; git config commit.gpgSign true
		git config diff.external BAD; git config diff.d.command BAD; git config diff.d.textconv BAD; git config pager.diff BAD
		git config merge.m.driver 'BAD %O %A %B'; git config filter.f.clean BAD; git config filter.f.smudge BAD
		git config filter.g.process BAD; git config filter.g.required true; git config 'filter.a=b.clean' BAD; git config 'filter.a=b.smudge' BAD
		git config alias.status '!BAD'; git config alias.worktree '!BAD'; git config submodule.recurse true
		git config core.alternateRefsCommand BAD; git config uploadpack.packObjectsHook BAD; git config gc.recentObjectsHook BAD
		git config gc.auto 1; git config gc.autoDetach false; git config sequence.editor BAD; git config interactive.diffFilter BAD
		git config extensions.worktreeConfig true; git config --worktree filter.w.clean BAD; git config --worktree filter.w.smudge BAD
		mkdir -p hooks; for h in post-checkout pre-commit commit-msg post-commit reference-transaction post-index-change post-merge pre-auto-gc; do
			cp BAD hooks/$h; cp BAD .git/hooks/$h; done
		git config core.hooksPath "$PWD/hooks"` + hooksInConfig
	included := `printf '[filter "f"]\n clean=BAD\n smudge=BAD\n' >.git/more
		printf '[include]\n path = deeper\n' >.git/some
		printf '[filter "g"]\n process=BAD\n required\n[core]\n fsmonitor=BAD\n hooksPath=hooks\n[hook "x"]\n command=BAD\n event=post-checkout\n event=reference-transaction\n' >.git/deeper
		git config include.path more; git config 'includeIf.onbranch:**.path' "$PWD/.git/some"`
	withEachGit(t, func(t *testing.T) {
		for name, script := range map[string]string{"settings": arm, "included": included} {
			t.Run(name, func(t *testing.T) {
				bad, ran := trap(t)
				r := newFiltered(t)
				testkit.Shell(t, r.Top, strings.ReplaceAll(script, "BAD", bad))
				useAll(t, open(t, r.Top))
				if exists(ran) {
					t.Errorf("it ran: %s", read(t, ran))
				}
			})
		}
	})
}

// TestHostileCopy: a member that writes the configuration of its own working copy has nothing run, also
// while its work is fetched.
func TestHostileCopy(t *testing.T) {
	withEachGit(t, func(t *testing.T) {
		bad, ran := trap(t)
		r := newFiltered(t)
		ana := add(t, r, "covey/crew/ana")
		testkit.Shell(t, ana.Top, strings.ReplaceAll(`git config extensions.worktreeConfig true
			git config --worktree filter.f.clean BAD; git config --worktree filter.f.smudge BAD; git config --worktree core.fsmonitor BAD
			git config --worktree hook.x.command BAD; git config --worktree hook.x.event reference-transaction
			git config --worktree --add hook.x.event post-index-change
			git config uploadpack.packObjectsHook BAD; git config core.alternateRefsCommand BAD; git config core.sshCommand BAD
			git config extensions.partialClone evil; git config core.repositoryFormatVersion 1
			git config remote.evil.promisor true; git config remote.evil.url "$PWD"; git config remote.evil.uploadpack BAD
			git config protocol.allow always; mkdir .git/hooks; cp BAD .git/hooks/post-checkout; cp BAD .git/hooks/reference-transaction`, "BAD", bad))
		ctx := t.Context()
		testkit.Must(t, os.WriteFile(filepath.Join(ana.Top, "x.f"), []byte("4\n"), 0o600))
		testkit.Must(t, os.WriteFile(filepath.Join(ana.Top, "b"), []byte("4\n"), 0o600))
		head, err := ana.CommitAll(ctx, Commit{Message: "all"}, nil)
		testkit.Must(t, err)
		_, err = ana.Publish(ctx, head)
		testkit.Must(t, err)
		testkit.Must(t, ana.Share(ctx, head))
		// An object of the next commit is gone, which git could fetch from the remote.
		testkit.Must(t, os.WriteFile(filepath.Join(ana.Top, "c"), []byte("5\n"), 0o600))
		head, err = ana.CommitAll(ctx, Commit{Message: "more"}, nil)
		testkit.Must(t, err)
		testkit.Must(t, os.Remove(filepath.Join(ana.GitDir, "objects", "7e", "d6ff82de6bcc2a78243fc9c54d3ef5ac14da69")))
		if _, err := ana.Publish(ctx, head); err == nil {
			t.Error("work was fetched without the content of a file")
		}
		if exists(ran) {
			t.Errorf("it ran: %s", read(t, ran))
		}
	})
}

// TestHostileRemote: an object that is missing is not fetched from where the configuration
// says, since what fetches may be a program.
func TestHostileRemote(t *testing.T) {
	withEachGit(t, func(t *testing.T) {
		bad, ran := trap(t)
		r := newRepo(t)
		testkit.Shell(t, r.Top, strings.ReplaceAll(`git config core.repositoryFormatVersion 1; git config extensions.partialClone origin
			git config remote.origin.url 'ext::BAD %S'; git config remote.origin.promisor true; git config protocol.ext.allow always
			git config remote.other.promisor true; git config remote.other.url 'ssh://x/y'; git config core.sshCommand BAD
			git config protocol.ssh.allow always; git config protocol.allow always
			rm -f .git/objects/$(git rev-parse HEAD:a | sed 's|^..|&/|')`, "BAD", bad))
		if _, err := r.File(t.Context(), "HEAD", "a"); err == nil {
			t.Error("a file whose content is gone was read")
		}
		if err := baseOf(t, r).Add(t.Context(), New{Path: filepath.Join(testkit.Folder(t), "copy"), Branch: "b", Commit: "HEAD"}); err == nil {
			t.Error("a copy was made without the content of a file")
		}
		if exists(ran) {
			t.Errorf("it ran: %s", read(t, ran))
		}
	})
}

// TestHostileSubmodule: git runs itself in submodules, by their own settings.
func TestHostileSubmodule(t *testing.T) {
	t.Parallel()
	r, other := newRepo(t), newRepo(t)
	trap := filepath.Join(testkit.Folder(t), "ran")
	testkit.Shell(t, r.Top, `git -c protocol.file.allow=always submodule --quiet add '`+other.Top+`' sub; git commit -qm sub
		printf '#!/bin/sh\necho ran >>'`+trap+`'; cat\n' >.git/bad; chmod +x .git/bad
		cd sub; git config core.fsmonitor "$PWD/../.git/bad"; git config filter.f.clean "$PWD/../.git/bad"
		echo '* filter=f' >.gitattributes; echo more >>a`)
	ctx := t.Context()
	state(t, r)
	_, err := r.Dirty(ctx)
	testkit.Must(t, err)
	_, err = r.Diff(ctx, "HEAD~1", "HEAD", DiffOptions{})
	testkit.Must(t, err)
	_, err = r.CommitAll(ctx, Commit{Message: "all"}, nil)
	testkit.Must(t, err)
	if exists(trap) {
		t.Error("a submodule's settings have run a program")
	}
}

// TestUsersFilterRuns: what the user has set up for all repositories does count, or
// files of LFS would look changed.
func TestUsersFilterRuns(t *testing.T) {
	global := filepath.Join(testkit.Folder(t), "config")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	testkit.Shell(t, testkit.Folder(t), `git config --global filter.up.clean 'tr a-z A-Z'; git config --global filter.up.smudge 'tr A-Z a-z'`)
	r := newRepo(t)
	testkit.Shell(t, r.Top, `echo '*.up filter=up' >.gitattributes; echo hello >x.up; git add -A; git commit -qm up`)
	if got := state(t, r).Tree; got != testkit.Shell(t, r.Top, "git rev-parse HEAD^{tree}") {
		t.Error("a clean file looks changed")
	}
	if got := read(t, add(t, r, "b").Top, "x.up"); got != "hello\n" {
		t.Errorf("written out as %q", got)
	}
}

// TestStashIsLeftAlone: the operator's stash stays as it is.
func TestStashIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	testkit.Shell(t, r.Top, `git config user.name u; git config user.email u@x; echo mine >>a; git stash -q; echo more >>a`)
	before := testkit.Shell(t, r.Top, "git stash list --format=%H; cat a")
	ana := add(t, r, "b")
	testkit.Shell(t, ana.Top, "echo x >>a")
	_, err := ana.CommitAll(t.Context(), Commit{Message: "m"}, nil)
	testkit.Must(t, err)
	if after := testkit.Shell(t, r.Top, "git stash list --format=%H; cat a"); after != before {
		t.Errorf("%s, was %s", after, before)
	}
}

// TestGitSeesNoSecrets: what git might run after all does not get covey's keys.
func TestGitSeesNoSecrets(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv("GIT_EXTERNAL_DIFF", "evil")
	out, err := Git{}.once(t.Context(), call{args: []string{"-c", "alias.env=!env", "env"}, dir: newRepo(t).Top})
	said := string(out)
	if err != nil || strings.Contains(said, "secret") || strings.Contains(said, "evil") || !strings.Contains(said, "GIT_NO_LAZY_FETCH=1") {
		t.Errorf("git sees %s, %v", out, err)
	}
}

// TestLinksInCopy: links and pipes that a member has put where covey keeps files in its copy lead neither covey's writes nor its
// reads to files outside, and nobody waits for them.
func TestLinksInCopy(t *testing.T) {
	ctx := t.Context()
	r := newRepo(t)
	testkit.Shell(t, r.Top, "echo 1 >f; git add f; git commit -qm 1")
	ana := add(t, r, "covey/crew/ana")
	dir := testkit.Folder(t)
	testkit.Put(t, dir, "secret", "TOKEN")
	testkit.Put(t, dir, "mine", "text")
	links := func() {
		testkit.Shell(t, ana.Top, strings.ReplaceAll(`
			for name in covey-shared covey-shallow shallow; do ln -sf DIR/mine .git/$name.covey; done
			echo x >.git/covey-shallow; ln -sf DIR/secret .git/shallow`, "DIR", dir))
	}
	for _, kind := range []string{"links", "pipes"} {
		if links(); kind == "pipes" {
			testkit.Shell(t, ana.Top, "rm .git/covey-shared .git/shallow; mkfifo .git/covey-shared")
		}
		testkit.Shell(t, r.Top, "echo "+kind+" >f; git commit -qam "+kind)
		_ = ana.Share(ctx, Head{Branch: "covey/crew/ana"}) // it may fail
		if text, _ := os.ReadFile(filepath.Join(ana.Top, ".git", "shallow")); kind == "links" && !isLink(ana.Top, ".git", "shallow") && len(text) > 0 {
			t.Errorf("the copy has what a file outside holds: %s", text)
		}
		if read(t, dir, "mine") != "text" {
			t.Error("covey wrote to a file outside")
		}
	}
	// Where git runs in no box, it is the last to see the links.
	testkit.Shell(t, ana.Top, "rm -f .git/*.covey .git/shallow .git/covey-*")
	testkit.Must(t, os.Rename(filepath.Join(ana.Top, ".git"), filepath.Join(dir, "git")))
	testkit.Must(t, os.Symlink(filepath.Join(dir, "git"), filepath.Join(ana.Top, ".git")))
	if err := ana.Share(ctx, Head{Branch: "covey/crew/ana"}); err == nil || exists(dir, "git", sharedFile) {
		t.Errorf("covey wrote to a repository that the copy links to: %v", err)
	}
}

// isLink reports whether a file is a link.
func isLink(elem ...string) bool {
	info, err := os.Lstat(filepath.Join(elem...))
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
