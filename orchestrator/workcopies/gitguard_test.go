package workcopies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitOfOthers: a member's commands of git that concern the working copies and branches of others
// are refused where the line shows it, and no others.
func TestGitOfOthers(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work/sub", "ana/sub", "ben", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "work"), filepath.Join(root, "link")); err != nil {
		t.Skip("no links here:", err)
	}
	g := gitGuard{
		own:      Tree{Top: filepath.Join(root, "ana"), Branch: "covey/crew/ana"},
		others:   []string{filepath.Join(root, "work"), filepath.Join(root, "work", ".git"), filepath.Join(root, "ben")},
		branches: func() []string { return []string{"", "main", "covey/crew/ben"} },
	}
	for says, lines := range map[string][]string{
		"git stash is shared": {
			"git stash", "git stash pop", "git stash -u", "cd x && git stash push -m y", "(git stash)", "/usr/bin/git stash",
			"git -C sub -c a=b --no-pager stash drop", "X=1 env git stash clear", "if true; then git stash; fi",
			"x=$(git stash)", "git --git-dir .git stash",
		},
		"git replace would show": {"git replace HEAD x", "git replace -f HEAD x", "git replace --graft HEAD", "git -C $W replace HEAD x"},
		"not your working copy": {
			"git -C $W commit -m x", "git -C $W/sub add .", "cd $W && git commit -qm x", "cd $W; git reset --hard HEAD~1",
			"(cd ../work/sub; git checkout -b elsewhere)", "git -C '$W' checkout -q -b elsewhere", `git -C "$W" merge x`,
			"GIT_DIR=$W/.git git commit -m x", "git --git-dir=$W/.git --work-tree $W commit -m x", "git -C ../ben rebase main",
			"git -C $R/link commit -m x", "env git -C $W restore .", "git -C .. -C work clean -fd", "git -C $W symbolic-ref HEAD refs/heads/x",
		},
		"which is not yours": {
			"git update-ref refs/heads/main HEAD", "git update-ref -m why refs/heads/main HEAD", "git branch -f main HEAD",
			"git branch -D main", "git branch -M main", "git push . HEAD:main", "git push $W +HEAD:refs/heads/main",
			"git fetch . HEAD:main", "git checkout main", "git switch main", "git checkout -B main", "git worktree add ../x main",
			"git symbolic-ref HEAD refs/heads/main", "git update-ref refs/heads/covey/crew/ben HEAD", "git -C $W branch -f main x",
		},
		"": {
			"git stash list", "git replace", "git replace -l", "git replace -d x", "git stash show -p", "git stash create", "git commit -m stash", "echo git stash", "git log stash", "git",
			"git -C", "", "git 'unclosed", `"$TOOL" stash`, "stash", "git branch stash", "gh pr create --body 'git stash'",
			"git commit -m 'on main'", "git -C $W log", "git -C $W status", "git -C $W diff HEAD", "cd $W && git show main", "git merge main",
			"git rebase main", "git checkout main -- a.go", "git checkout main a.go", "git checkout -b try main", "git switch -c try main",
			"git checkout --detach main", "git branch try main", "git branch --contains main", "git push origin HEAD:main",
			"git push -u origin covey/crew/ana", "git fetch origin", "git -C sub commit -m x", "cd sub && git add -A && git commit -m x",
			"git -C $R/elsewhere commit -m x", "git update-ref refs/heads/try main", "git worktree list", "git worktree add --detach ../x main",
			"git symbolic-ref HEAD", "git -C $W symbolic-ref HEAD", "git -C \"$X\" commit -m x", "cd \"$X\" && git commit -m x", "git diff main",
			"git reset --hard main", "git log main..HEAD", "git cherry-pick main", "echo git -C $W commit",
		},
	} {
		for _, line := range lines {
			line = strings.NewReplacer("$W", filepath.Join(root, "work"), "$R", root).Replace(line)
			if got := g.refusal(line, filepath.Join(root, "ana")); (says == "") != (got == "") || !strings.Contains(got, says) {
				t.Errorf("%s: refused %q, want %q", line, got, says)
			}
		}
	}
}
