package worktree

import (
	"context"
	"os"
	"path/filepath"
)

// PreCommit returns the command by which a gate runs the pre-commit hook of the repository, which
// commits of this package do not run; empty: it has none.
func (r *Repo) PreCommit(ctx context.Context) string {
	if info, err := os.Stat(filepath.Join(r.Top, ".pre-commit-config.yaml")); err == nil && info.Mode().IsRegular() {
		return "pre-commit run --all-files"
	}
	dir := filepath.Join(r.Common, "hooks")
	// The last value is that of baseOptions.
	out, _ := r.git.run(ctx, call{args: []string{"config", "-z", "--path", "--get-all", "core.hooksPath"}, dir: r.Top})
	if set := fields(out); len(set) > 1 {
		if dir = set[len(set)-2]; !filepath.IsAbs(dir) {
			dir = filepath.Join(r.Top, dir)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "pre-commit"))
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	// Hooks look at what is staged. Those of the repository are not in its clones.
	return `git add -A && git -c core.hooksPath="$(git -C "$COVEY_WORKSPACE" rev-parse --path-format=absolute --git-path hooks)" hook run pre-commit`
}
