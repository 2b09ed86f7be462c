package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CloneAt makes a repository in a folder have what another one has at a reference, and returns it with that
// checked out. A folder that is not there is made.
func (g Git) CloneAt(ctx context.Context, url, ref, dir string) (*Repo, error) {
	if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if _, err := g.run(ctx, call{args: []string{"init", "--quiet", "--initial-branch=node"}, dir: dir}); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	repo, err := g.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	if top, err := filepath.EvalSymlinks(dir); err != nil || top != repo.Top {
		return nil, fmt.Errorf("%s is no repository of its own: %w", dir, errors.Join(err, ErrNoRepo))
	}
	for _, c := range [][]string{
		{"config", "remote.origin.url", url},
		{"fetch", "--quiet", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules", "--", url, "+" + ref + ":refs/covey/clone"},
		{"checkout", "--quiet", "--force", "--no-recurse-submodules", "-B", "node", "refs/covey/clone"},
	} {
		if _, err := g.run(ctx, call{args: c, dir: dir, env: operatorsEnv(), limit: slow}); err != nil {
			return nil, err
		}
	}
	return repo, nil
}
