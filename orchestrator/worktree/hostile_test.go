package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileSettings is attack 47 of ADVERSARIAL.md: whatever a repository's own
// configuration names, nothing of it runs.
func TestHostileSettings(t *testing.T) {
	r := newRepo(t)
	trap := filepath.Join(folder(t), "ran")
	bad := filepath.Join(folder(t), "bad")
	must(t, os.WriteFile(bad, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+trap+"'\ncat\nexit 0\n"), 0o755))
	arm := `
		git config core.fsmonitor BAD; git config core.sshCommand BAD; git config core.editor BAD; git config core.pager BAD
		git config core.askPass BAD; git config credential.helper '!BAD'; git config gpg.program BAD; git config commit.gpgSign true
		git config diff.external BAD; git config diff.d.command BAD; git config diff.d.textconv BAD
		git config merge.m.driver 'BAD %O %A %B'; git config filter.f.clean BAD; git config filter.f.smudge BAD
		git config filter.g.process BAD; git config filter.g.required true; git config 'filter.a=b.clean' BAD; git config 'filter.a=b.smudge' BAD
		git config filter.i.clean BAD
		git config core.alternateRefsCommand BAD; git config uploadpack.packObjectsHook BAD; git config gc.recentObjectsHook BAD
		git config gc.auto 1; git config gc.autoDetach false; git config sequence.editor BAD; git config interactive.diffFilter BAD
		git config extensions.worktreeConfig true; git config --worktree filter.w.clean BAD; git config --worktree filter.w.smudge BAD
		mkdir -p hooks; for h in post-checkout pre-commit commit-msg post-commit reference-transaction post-index-change post-merge pre-auto-gc; do
			cp BAD hooks/$h; cp BAD .git/hooks/$h; done
		git config core.hooksPath "$PWD/hooks"`
	attrs := `*.f filter=f diff=d merge=m
*.g filter=g
*.w filter=w
*.ab filter=a=b
`
	sh(t, r.Top, `printf '`+strings.ReplaceAll(attrs, "\n", `\n`)+`' >.gitattributes; for x in f g w ab; do echo 1 >x.$x; done; git add -A; git commit -qm attrs`)
	sh(t, r.Top, `git checkout -q -b other; echo 2 >x.f; git commit -qam other; git checkout -q main; echo 3 >x.f; git commit -qam main`)
	sh(t, r.Top, strings.ReplaceAll(arm, "BAD", bad))
	r = open(t, r.Top)
	ana := add(t, r, "covey/crew/ana")
	if !exists(ana.Top, "x.g") {
		t.Error("a required filter that must not run keeps its file out")
	}
	for _, c := range []*Repo{r, ana} {
		must(t, os.WriteFile(filepath.Join(c.Top, "x.f"), []byte("4\n"), 0o600))
		must(t, os.WriteFile(filepath.Join(c.Top, "x.ab"), []byte("4\n"), 0o600))
		must(t, os.WriteFile(filepath.Join(c.Top, "x.w"), []byte("4\n"), 0o600))
		state(t, c)
	}
	ctx := t.Context()
	_, err := ana.Dirty(ctx)
	must(t, err)
	_, err = ana.Rescue(ctx, "refs/covey/rescue/1", "rescue")
	must(t, err)
	_, err = ana.CommitAll(ctx, "all", Person{})
	must(t, err)
	_, err = r.Diff(ctx, "main", "other", DiffOptions{})
	must(t, err)
	if m, err := r.Merge(ctx, "main", "other"); err != nil || len(m.Conflicts) != 1 {
		t.Errorf("a merge driver that must not run: %+v, %v", m, err)
	}
	must(t, r.Remove(ctx, ana.Top))
	must(t, r.Move(ctx, "refs/heads/z", Step{To: sh(t, r.Top, "git -c core.hooksPath=/dev/null rev-parse main"), Why: "x"}))
	if exists(trap) {
		t.Errorf("it ran: %s", read(t, trap))
	}
}

// TestHostileSubmodule: git runs itself in submodules, by their own settings.
func TestHostileSubmodule(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	trap := filepath.Join(folder(t), "ran")
	sh(t, r.Top, `git -c protocol.file.allow=always submodule --quiet add '`+other.Top+`' sub; git commit -qm sub
		printf '#!/bin/sh\necho ran >>'`+trap+`'; cat\n' >.git/bad; chmod +x .git/bad
		cd sub; git config core.fsmonitor "$PWD/../.git/bad"; git config filter.f.clean "$PWD/../.git/bad"
		echo '* filter=f' >.gitattributes; echo more >>a`)
	ctx := t.Context()
	state(t, r)
	_, err := r.Dirty(ctx)
	must(t, err)
	_, err = r.Diff(ctx, "HEAD~1", "HEAD", DiffOptions{})
	must(t, err)
	_, err = r.CommitAll(ctx, "all", Person{})
	must(t, err)
	if exists(trap) {
		t.Error("a submodule's settings have run a program")
	}
}

// TestUsersFilterRuns: what the user has set up for all repositories does count, or
// files of LFS would look changed.
func TestUsersFilterRuns(t *testing.T) {
	global := filepath.Join(folder(t), "config")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	sh(t, folder(t), `git config --global filter.up.clean 'tr a-z A-Z'; git config --global filter.up.smudge 'tr A-Z a-z'`)
	r := newRepo(t)
	sh(t, r.Top, `echo '*.up filter=up' >.gitattributes; echo hello >x.up; git add -A; git commit -qm up`)
	if got := state(t, r).Tree; got != sh(t, r.Top, "git rev-parse HEAD^{tree}") {
		t.Error("a clean file looks changed")
	}
	if got := read(t, add(t, r, "b").Top, "x.up"); got != "hello\n" {
		t.Errorf("written out as %q", got)
	}
}

// TestStashIsLeftAlone: all working copies share it.
func TestStashIsLeftAlone(t *testing.T) {
	r := newRepo(t)
	sh(t, r.Top, `git config user.name u; git config user.email u@x; echo mine >>a; git stash -q; echo more >>a`)
	before := sh(t, r.Top, "git stash list --format=%H; cat a")
	ana := add(t, r, "b")
	sh(t, ana.Top, "echo x >>a")
	_, err := ana.CommitAll(t.Context(), "m", Person{})
	must(t, err)
	must(t, r.Remove(t.Context(), ana.Top))
	if after := sh(t, r.Top, "git stash list --format=%H; cat a"); after != before {
		t.Errorf("%s, was %s", after, before)
	}
}

// TestGitSeesNoSecrets: what git might run after all does not get covey's keys.
func TestGitSeesNoSecrets(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv("GIT_EXTERNAL_DIFF", "evil")
	out, err := once(t.Context(), call{args: []string{"-c", "alias.env=!env", "env"}, dir: newRepo(t).Top})
	said := string(out)
	if err != nil || strings.Contains(said, "secret") || strings.Contains(said, "evil") || !strings.Contains(said, "GIT_NO_LAZY_FETCH=1") {
		t.Errorf("git sees %s, %v", out, err)
	}
}
