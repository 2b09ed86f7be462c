package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Differing lists the files below Dir that are on disk not as a commit has them:
// changed, gone, or new and not ignored. Paths are below Dir, with slashes, in order; a
// folder that is a repository of its own ends in a slash. base is a commit; empty: none,
// and all files are new.
//
// Neither the index of the working copy nor any file is touched, nor are objects made.
// index is the absolute path of a file outside of the working copy that is kept between
// calls, one at a time: it has the sizes and times by which git need not read again
// what is the same, at first those that the working copy's own index has.
func (r *Repo) Differing(ctx context.Context, index, base string) ([]string, error) {
	w, err := r.writer(ctx, index)
	if err != nil {
		return nil, fmt.Errorf("look at the files of %s: %w", r.Dir, err)
	}
	if err := w.turnTo(ctx, base); err != nil {
		// It was cut off in the middle, or is of another repository.
		if rm := os.Remove(index); rm != nil {
			return nil, err
		}
		if base != "" {
			if _, err := w.git(ctx, nil, "read-tree", base); err != nil {
				return nil, err
			}
		}
	}
	// It says with its exit code that some files are not the same.
	var f *Failure
	if _, err := w.git(ctx, nil, "update-index", "-q", "--refresh"); err != nil && !(errors.As(err, &f) && f.Code == 1) {
		return nil, err
	}
	gone, changed, err := w.differing(ctx)
	if err != nil {
		return nil, err
	}
	fresh, err := w.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard", "--", r.Dir)
	if err != nil {
		return nil, err
	}
	return r.below(slices.Concat(gone, changed, fields(fresh))), nil
}

// below is those of some paths of the repository that lie below Dir, as seen from there.
func (r *Repo) below(paths []string) []string {
	var list []string
	for _, path := range paths {
		if r.Prefix == "" {
			list = append(list, path)
		} else if rest, in := strings.CutPrefix(path, r.Prefix+"/"); in {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// turnTo makes the index that of a commit, or an empty one. What it knows of files that
// are the same in both it keeps.
func (w writer) turnTo(ctx context.Context, base string) error {
	// Which files are written out, the copy's own index alone knows, and that may change.
	if _, err := os.Lstat(w.index); err != nil || w.guard.sparse {
		if err := w.seed(ctx); err != nil {
			return err
		}
	}
	args := []string{"read-tree", "--empty"}
	if base != "" {
		args = []string{"read-tree", "--reset", "-i", base}
	}
	_, err := w.git(ctx, nil, args...)
	return err
}

// seed begins an index with what the working copy's own one knows of sizes and times.
// One with marks that hide changes from git is of no use, except where they stand for
// files that are not written out.
func (w writer) seed(ctx context.Context) error {
	own := filepath.Join(w.repo.GitDir, "index")
	data, err := os.ReadFile(own)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the files of %s: %w", w.repo.Dir, err)
	}
	if err := os.WriteFile(w.index, data, 0o600); err != nil {
		return fmt.Errorf("look at the files of %s: %w", w.repo.Dir, err)
	}
	// git reads files again that were changed when the index was written, or since.
	if info, err := os.Stat(own); err == nil {
		if err := os.Chtimes(w.index, info.ModTime(), info.ModTime()); err != nil {
			return fmt.Errorf("look at the files of %s: %w", w.repo.Dir, err)
		}
	}
	if w.guard.sparse {
		return nil
	}
	out, err := w.git(ctx, nil, "ls-files", "-v", "-z")
	hides := func(entry string) bool { return entry[0] >= 'a' && entry[0] <= 'z' || entry[0] == 'S' }
	if err != nil || slices.ContainsFunc(fields(out), hides) {
		return os.Remove(w.index)
	}
	return nil
}
