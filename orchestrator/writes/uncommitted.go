package writes

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// uncommitted returns what git status shows of some files below a folder, in the form
// of Repo.Dirty. git shows a new folder as one line; here each file has its own,
// because others may have files in it. clean is called with those of which it shows nothing.
func uncommitted(ctx context.Context, repo *worktree.Repo, dir string, files []string, clean func([]string) error) ([]string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("list uncommitted files: %w", err)
	}
	status, err := repo.Dirty(ctx)
	if err != nil {
		return nil, fmt.Errorf("list uncommitted files: %w", err)
	}
	codes := map[string]string{} // by absolute path
	for _, line := range status {
		if len(line) > 3 { // two letters, a space, the path
			codes[filepath.Join(repo.Top, filepath.FromSlash(line[3:]))] = line[:2]
		}
	}
	var list, rest []string
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		at := path
		for len(at) > len(repo.Top) && codes[at] == "" {
			at = filepath.Dir(at)
		}
		rel, err := filepath.Rel(repo.Top, path)
		if err == nil && codes[at] != "" {
			list = append(list, codes[at]+" "+filepath.ToSlash(rel))
		} else {
			rest = append(rest, file)
		}
	}
	return list, clean(rest)
}
