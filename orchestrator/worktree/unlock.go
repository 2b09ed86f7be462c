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

// Unlock removes the lock files that a killed git left, which make later calls fail: those of these
// clones, of the branches below a path of the operator's repository, such as "covey/crew", and of
// what the base keeps there. Nobody may be working on any.
//
// It leaves the main working copy and other shared files alone: they belong to the
// user, who may be working there.
func (b *Base) Unlock(clones []string, below string) error {
	var dirs []string
	for _, refs := range []string{"refs/heads/" + below, b.pins(), b.in("")} {
		dirs = append(dirs, filepath.Join(b.repo.Common, filepath.FromSlash(refs)))
	}
	for _, top := range clones {
		dirs = append(dirs, filepath.Join(top, ".git"))
	}
	var all error
	for _, dir := range dirs {
		all = errors.Join(all, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a branch has this name
				return nil
			case err != nil:
				return err
			case d.IsDir() && path == filepath.Join(dir, "objects"): // a lock there holds up nobody
				return fs.SkipDir
			case d.Type().IsRegular() && strings.HasSuffix(path, ".lock"): // no branch can have such a name
				return os.Remove(path)
			}
			return nil
		}))
	}
	if all != nil {
		return fmt.Errorf("remove the locks of a killed git: %w", all)
	}
	return nil
}
