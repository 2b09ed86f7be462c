package writes

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Uncommitted returns what git status shows of some files below a folder, in the form
// of Repo.Dirty. git shows a new folder as one line; here each file has its own,
// because others may have files in it.
func Uncommitted(ctx context.Context, repo *worktree.Repo, dir string, files []string) ([]string, error) {
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
	var list []string
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		for at := path; len(at) > len(repo.Top); at = filepath.Dir(at) {
			if code, ok := codes[at]; ok {
				if rel, err := filepath.Rel(repo.Top, path); err == nil {
					list = append(list, code+" "+filepath.ToSlash(rel))
				}
				break
			}
		}
	}
	return list, nil
}
