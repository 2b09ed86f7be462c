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

// Differing lists the files below Dir that differ on disk from a commit: changed,
// deleted, or new and not ignored. Paths are slash-separated, relative to Dir, in
// order; a nested repository ends in a slash. base is a commit; empty: none, so that
// all files are new.
//
// It changes neither the working copy's index nor any file, and creates no objects.
// index is the absolute path of a file outside of the working copy that is kept between
// calls, one call at a time: it holds sizes and times, initially those of the working
// copy's own index, so that git need not read unchanged files again.
func (r *Repo) Differing(ctx context.Context, index, base string) ([]string, error) {
	w, _, err := r.writer(ctx, index)
	if err != nil {
		return nil, fmt.Errorf("compare the files of %s: %w", r.Dir, err)
	}
	if err := w.setTo(ctx, base); err != nil {
		// The index is truncated, or of another repository.
		if rm := os.Remove(w.index); rm != nil {
			return nil, err
		}
		if base != "" {
			if _, err := w.git(ctx, nil, "read-tree", base); err != nil {
				return nil, err
			}
		}
	}
	gone, changed, fresh, err := w.differing(ctx, r.Dir)
	if err != nil {
		return nil, err
	}
	return below(r.Prefix, slices.Concat(gone, changed, fresh)), nil
}

// below returns those of some paths of the repository that are below the folder prefix,
// relative to it.
func below(prefix string, paths []string) []string {
	var list []string
	for _, path := range paths {
		if prefix == "" {
			list = append(list, path)
		} else if rest, in := strings.CutPrefix(path, prefix+"/"); in {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// setTo sets the index to a commit, or empties it. It keeps what it knows of files that
// are the same in both.
func (w writer) setTo(ctx context.Context, base string) error {
	// Only the copy's own index knows which files are checked out, and that may change.
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

// seed starts an index with the sizes and times of the working copy's own one. An index
// with flags that hide changes is not usable, unless they mark files that are not
// checked out.
func (w writer) seed(ctx context.Context) error {
	data, err := readFile(w.repo.GitDir, "index")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare the files of %s: %w", w.repo.Dir, err)
	}
	if err := os.WriteFile(w.index, data, 0o600); err != nil {
		return fmt.Errorf("compare the files of %s: %w", w.repo.Dir, err)
	}
	// git reads files again that changed when the index was written or later.
	if info, err := os.Lstat(filepath.Join(w.repo.GitDir, "index")); err == nil {
		if err := os.Chtimes(w.index, info.ModTime(), info.ModTime()); err != nil {
			return fmt.Errorf("compare the files of %s: %w", w.repo.Dir, err)
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
