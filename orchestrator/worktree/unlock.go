package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Unlock removes the lock files that a killed git left, which make later calls fail:
// those of these working copies, and of the branches below a path, such as
// "covey/crew". Nobody may be working on either.
//
// It leaves the main working copy and other shared files alone: they belong to the
// user, who may be working there.
func (r *Repo) Unlock(copies []string, below string) error {
	var all error
	for _, top := range copies {
		all = errors.Join(all, r.unlockCopy(top))
	}
	branches := filepath.Join(r.Common, "refs", "heads", filepath.FromSlash(below))
	err := filepath.WalkDir(branches, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a branch has this name
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular() && strings.HasSuffix(path, ".lock"): // no branch can have such a name
			return os.Remove(path)
		}
		return nil
	})
	if err = errors.Join(all, err); err != nil {
		return fmt.Errorf("remove the locks of a killed git: %w", err)
	}
	return nil
}

// unlockCopy removes the locks of one working copy. Its .git file counts only if it
// names a folder where git keeps such copies, because a member can write to it.
func (r *Repo) unlockCopy(top string) error {
	said, err := os.ReadFile(filepath.Join(top, ".git"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is moved away or created again
	}
	if err != nil {
		return err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(said), "\r\n"), "gitdir: ")
	if !ok || filepath.Dir(filepath.Clean(dir)) != filepath.Join(r.Common, "worktrees") {
		return nil
	}
	locks, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, path := range locks {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
