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

// Unlock removes the lock files that a git leaves which is killed, and over which every
// later one stumbles: of these working copies, and of the branches below a path, as in
// "covey/crew". Nobody may be at work in either.
//
// The first working copy is left alone, and so is whatever all copies share but those
// branches: they are their user's, who may be at work there.
func (c *Copies) Unlock(copies []string, below string) error {
	var all error
	for _, top := range copies {
		all = errors.Join(all, c.unlockCopy(top))
	}
	branches := filepath.Join(c.repo.Common, "refs", "heads", filepath.FromSlash(below))
	err := filepath.WalkDir(branches, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a branch is in the way
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular() && strings.HasSuffix(path, ".lock"): // no branch has such a name
			return os.Remove(path)
		}
		return nil
	})
	if err = errors.Join(all, err); err != nil {
		return fmt.Errorf("remove what a git that was killed has left: %w", err)
	}
	return nil
}

// unlockCopy removes the locks of one working copy. What its .git file says is believed
// only where it names a folder in which git keeps such copies: a member can write there.
func (c *Copies) unlockCopy(top string) error {
	said, err := os.ReadFile(filepath.Join(top, ".git"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is put aside or made anew
	}
	if err != nil {
		return err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(said), "\r\n"), "gitdir: ")
	if !ok || filepath.Dir(filepath.Clean(dir)) != filepath.Join(c.repo.Common, "worktrees") {
		return nil
	}
	locks, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, path := range locks {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
