package workcopies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitOfOthers: a member's commands of git that change the repositories of others are refused where
// the line shows it, and no others.
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
		own:    Tree{Top: filepath.Join(root, "ana"), Branch: "covey/crew/ana"},
		others: []string{filepath.Join(root, "work"), filepath.Join(root, "work", ".git"), filepath.Join(root, "ben")},
	}
	for says, lines := range map[string][]string{
		"not your working copy": {
			"git -C $W commit -m x", "git -C $W/sub add .", "cd $W && git commit -qm x", "cd $W; git reset --hard HEAD~1",
			"(cd ../work/sub; git checkout -b elsewhere)", "git -C '$W' checkout -q -b elsewhere", `git -C "$W" merge x`,
			"GIT_DIR=$W/.git git commit -m x", "git --git-dir=$W/.git --work-tree $W commit -m x", "git -C ../ben rebase main",
			"git -C $R/link commit -m x", "env git -C $W restore .", "git -C .. -C work clean -fd", "git -C $W symbolic-ref HEAD refs/heads/x",
			"git -C $W stash", "cd $W && git stash pop", "git -C $W replace HEAD x", "git -C $W branch -f main x", "git push $W +HEAD:refs/heads/main",
			"git push -q file://$W HEAD:main", "git push ../ben HEAD", "git -C $W update-ref refs/heads/main HEAD", "git -C $W worktree add ../x main",
			"git -C $W fetch ../ana HEAD:main", "cd ../ben && git branch -D main",
		},
		"": {
			"git stash", "git stash pop", "git replace HEAD x", "git update-ref refs/heads/main HEAD", "git branch -f main HEAD", "git branch -D main",
			"git checkout main", "git switch main", "git push . HEAD:main", "git fetch . HEAD:main", "git worktree add ../x main",
			"git -C $W stash list", "git -C $W worktree list", "git -C $W branch --contains main", "git -C $W fetch origin", "git -C $W replace -l",
			"git commit -m stash", "echo git stash", "git log stash", "git", "git -C", "git 'unclosed", `"$TOOL" commit`, "gh pr create --body 'git stash'",
			"git commit -m 'on main'", "git -C $W log", "git -C $W status", "git -C $W diff HEAD", "cd $W && git show main", "git merge main",
			"git push origin HEAD:main", "git push -u origin covey/crew/ana", "git fetch origin", "git -C sub commit -m x", "cd sub && git add -A && git commit -m x",
			"git -C $R/elsewhere commit -m x", "git symbolic-ref HEAD", "git -C $W symbolic-ref HEAD", "git -C \"$X\" commit -m x", "cd \"$X\" && git commit -m x",
			"echo git -C $W commit",
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
