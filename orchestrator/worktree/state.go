package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is the content of a working copy at one moment.
type State struct {
	Head Head // what the working copy has checked out
	// Tree contains all files that git does not ignore, committed, staged, changed or
	// new, as they are on disk.
	Tree string
	// Beyond are the paths relative to Top that no tree can contain: nested
	// repositories.
	Beyond []string
	// Withheld are the paths relative to Top of changed or new files that are not in
	// Tree, which has the last commit's version or none: their filter must not run, and
	// without it a secret could be committed in plain text (Git.Filters).
	Withheld []string
}

// State returns the content of the working copy. It changes neither files, index nor
// stash. index is the absolute path of a file outside of the working copy that is kept
// between calls to speed them up; empty: none. Flags in the copy's own index that hide
// changes (assume-unchanged) have no effect.
func (r *Repo) State(ctx context.Context, index string) (State, error) {
	w, done, err := r.writer(ctx, index)
	if err != nil {
		return State{}, fmt.Errorf("read the state of %s: %w", r.Top, err)
	}
	defer done()
	head, err := r.Head(ctx)
	if err != nil {
		return State{}, err
	}
	if err := w.begin(ctx, head.Commit); err != nil {
		// The index is truncated, or of another repository.
		if rm := os.Remove(w.index); rm != nil {
			return State{}, err
		}
		if err := w.begin(ctx, head.Commit); err != nil {
			return State{}, err
		}
	}
	s := State{Head: head, Tree: head.Tree}
	changed, err := w.update(ctx, &s)
	if err != nil {
		return State{}, err
	}
	if changed || head.Commit == "" || w.guard.sparse {
		out, err := w.git(ctx, nil, "write-tree")
		if err != nil {
			return State{}, err
		}
		s.Tree = line(out)
	}
	w.tell(s.Withheld)
	return s, nil
}

// writer works on an index of a working copy, and knows which files to withhold.
type writer struct {
	repo  *Repo
	index string // absolute path; empty: the working copy's own index
	guard *guard
}

// writer returns a writer with the current guard. An empty index stands for a new one, which done
// removes. If git runs in a box, the index has its name in the box's folder for indexes.
func (r *Repo) writer(ctx context.Context, index string) (w writer, done func(), err error) {
	w, done = writer{repo: r, index: index}, func() {}
	if w.guard, err = r.guard(ctx); err != nil {
		return w, done, err
	}
	box, indexes, err := r.git.inside(r.Top)
	if err != nil || index != "" {
		if box != nil {
			w.index = filepath.Join(indexes, filepath.Base(index))
		}
		return w, done, err
	}
	dir, err := os.MkdirTemp(indexes, "covey-index-")
	w.index = filepath.Join(dir, "index")
	return w, func() { _ = os.RemoveAll(dir) }, err
}

// git runs git with the writer's index.
func (w writer) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return w.repo.guarded(ctx, call{args: args, index: w.index, stdin: stdin, limit: slow, guard: w.guard})
}

// begin sets the index to a commit, that of the copy, and keeps what it knows of unchanged
// files. If not all files are checked out, it starts from the copy's own index, which
// alone distinguishes files that were left out from deleted ones.
//
// An index that is kept between calls holds sizes and times of files, so that git need
// not read unchanged files again.
func (w writer) begin(ctx context.Context, commit string) error {
	if w.guard.sparse {
		data, err := readFile(w.repo.GitDir, "index")
		if err != nil {
			return fmt.Errorf("read the state of %s: %w", w.repo.Top, err)
		}
		return os.WriteFile(w.index, data, 0o600)
	}
	args := []string{"read-tree", commit}
	if commit == "" {
		args = []string{"read-tree", "--empty"}
	} else if _, err := os.Stat(w.index); err == nil {
		args = []string{"read-tree", "-m", commit}
	}
	_, err := w.git(ctx, nil, args...)
	return err
}

// update adds the differences on disk to the index, lists in s what it leaves out, and
// reports whether it added any. It is `git add --all` without entering submodules, where
// git would apply their settings.
//
// Removals come first, so that where a file became a folder, or the reverse, the old
// entry is gone before the new one is added.
func (w writer) update(ctx context.Context, s *State) (bool, error) {
	gone, changed, fresh, err := w.differing(ctx, "")
	if err != nil {
		return false, err
	}
	for _, path := range fresh {
		if folder, nested := strings.CutSuffix(path, "/"); nested {
			s.Beyond = append(s.Beyond, folder)
		} else {
			changed = append(changed, path)
		}
	}
	staged, err := w.staged(ctx)
	if err != nil {
		return false, err
	}
	gone, changed, s.Withheld, err = w.leaveOut(ctx, gone, append(changed, staged...))
	if err != nil {
		return false, err
	}
	if len(gone) > 0 {
		list := []byte(strings.Join(gone, "\x00") + "\x00")
		if _, err := w.git(ctx, list, "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return false, err
		}
	}
	if len(changed) == 0 {
		return len(gone) > 0, nil
	}
	slices.Sort(changed)
	list := strings.Join(slices.Compact(changed), "\x00") + "\x00"
	_, err = w.git(ctx, []byte(list), "update-index", "--add", "--remove", "--replace",
		"--ignore-skip-worktree-entries", "-z", "--stdin")
	return true, err
}

// differing lists the files of the index that are missing on disk, those that differ, and
// those that are neither in the index nor ignored; a nested repository ends in a slash.
// below limits them to those below a folder; empty: all. Sizes and times of unchanged
// files go into the index, so that the next call need not read them again.
func (w writer) differing(ctx context.Context, below string) (gone, changed, fresh []string, err error) {
	args := append(slices.Clone(statusArgs), "--untracked-files=all")
	if below != "" {
		args = append(args, "--", below)
	}
	out, err := w.repo.guarded(ctx, call{
		args: args, index: w.index, limit: slow, guard: w.guard,
		env: []string{"GIT_OPTIONAL_LOCKS=1"}, // else status does not write the index
	})
	for _, entry := range fields(out) { // "XY path": X compares index and head, Y file and index
		if len(entry) < len("XY p") {
			continue
		}
		path := entry[3:]
		switch x, y := entry[0], entry[1]; {
		case y == '?':
			fresh = append(fresh, path)
		case y == 'D' && x != 'U' && x != 'D': // not in conflict
			gone = append(gone, path)
		case y != ' ':
			changed = append(changed, path)
		}
	}
	return gone, changed, fresh, err
}

// statusArgs are the common arguments of git status.
var statusArgs = []string{"status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty"}

// staged lists ignored files that were added to the copy's own index; no other command
// finds them.
func (w writer) staged(ctx context.Context) ([]string, error) {
	if w.guard.sparse { // begin used that index
		return nil, nil
	}
	out, err := w.repo.guarded(ctx, call{
		args: []string{"ls-files", "-z", "--cached", "--ignored", "--exclude-standard"}, guard: w.guard,
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(fields(out), func(path string) bool {
		_, err := os.Lstat(filepath.Join(w.repo.Top, filepath.FromSlash(path)))
		return err != nil
	}), nil
}

// Untracked lists the files that are neither in the copy's index nor ignored; a nested repository
// ends in a slash.
func (r *Repo) Untracked(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	return fields(out), err
}

// Dirty lists what git status shows of the whole working copy, in order: two letters
// and a path each, as in "?? notes.txt". A new folder is one entry. Flags in the copy's
// index hide changes from Dirty, but not from State.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, append(slices.Clone(statusArgs), "--untracked-files=normal")...)
	return fields(out), err
}
