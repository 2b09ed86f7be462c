package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is what lies in a working copy at one moment.
type State struct {
	// Tree holds all files that git does not ignore: what is committed, staged, changed
	// and new, as it is on disk.
	Tree string
	// Beyond are the paths below Top of what lies there and is in no tree: folders that
	// are repositories of their own.
	Beyond []string
	// Withheld are the paths below Top of what lies there changed or new and is not in
	// Tree, which has the last commit's file or none: they have a filter that must not
	// run, and without it a secret could be committed in plain text (Git.Filters).
	Withheld []string
}

// State takes down what lies in the working copy. Neither its files nor its index
// are touched, nor the stash. index is the absolute path of a file that is kept
// between calls and makes the next ones fast, outside of the working copy; empty:
// none. Marks in the copy's own index that hide changes from git (assume-unchanged)
// hide nothing here.
func (r *Repo) State(ctx context.Context, index string) (State, error) {
	if index == "" {
		dir, err := os.MkdirTemp("", "covey-index-")
		if err != nil {
			return State{}, fmt.Errorf("take down the state of %s: %w", r.Top, err)
		}
		defer os.RemoveAll(dir)
		index = filepath.Join(dir, "index")
	}
	w, err := r.writer(ctx, index)
	if err != nil {
		return State{}, err
	}
	if err := w.begin(ctx); err != nil {
		// A file that was cut off in the middle, or is of another repository.
		if rm := os.Remove(index); rm != nil {
			return State{}, err
		}
		if err := w.begin(ctx); err != nil {
			return State{}, err
		}
	}
	beyond, withheld, err := w.update(ctx)
	if err != nil {
		return State{}, err
	}
	out, err := w.git(ctx, nil, "write-tree")
	w.tell(withheld)
	return State{Tree: line(out), Beyond: beyond, Withheld: withheld}, err
}

// writer works on an index of a working copy, and knows which files it must leave alone.
type writer struct {
	repo  *Repo
	index string // absolute path; empty: the working copy's own
	guard *guard
}

// writer looks once at the settings against which it must be on its guard.
func (r *Repo) writer(ctx context.Context, index string) (writer, error) {
	guard, err := r.Config.guard(ctx)
	return writer{repo: r, index: index, guard: guard}, err
}

// git runs git with the writer's index.
func (w writer) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return w.repo.guarded(ctx, call{args: args, index: w.index, stdin: stdin, limit: slow, guard: w.guard})
}

// begin makes the index that of the commit that the copy is on. What it knows of
// files that are still the same it keeps.
// Where not all files are written out, the copy's own index says which; there it
// is the only way to tell a file that was left out from one that was deleted.
//
// An index that was kept between calls holds sizes and times of files, by which git need
// not read again what is the same.
func (w writer) begin(ctx context.Context) error {
	if w.guard.sparse {
		data, err := os.ReadFile(filepath.Join(w.repo.GitDir, "index"))
		if err != nil {
			return fmt.Errorf("take down the state of %s: %w", w.repo.Top, err)
		}
		return os.WriteFile(w.index, data, 0o600)
	}
	args := []string{"read-tree", "HEAD"}
	if _, err := os.Stat(w.index); err == nil {
		args = []string{"read-tree", "-m", "HEAD"}
	}
	_, err := w.git(ctx, nil, args...)
	if err == nil {
		return nil
	}
	if _, none := w.repo.Commit(ctx, "HEAD"); errors.Is(none, ErrNoRef) {
		_, err = w.git(ctx, nil, "read-tree", "--empty")
	}
	return err
}

// update puts into the index what differs on disk. It is `git add --all` without
// looking into submodules, where git would go by settings of theirs.
//
// Removals go first, so that where a file has become a folder, or the other way round,
// the old entry is gone when the new one comes.
func (w writer) update(ctx context.Context) (beyond, withheld []string, err error) {
	gone, changed, err := w.differing(ctx)
	if err != nil {
		return nil, nil, err
	}
	more, err := w.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, err
	}
	for _, path := range fields(more) {
		if folder, nested := strings.CutSuffix(path, "/"); nested {
			beyond = append(beyond, folder)
		} else {
			changed = append(changed, path)
		}
	}
	staged, err := w.staged(ctx)
	if err != nil {
		return nil, nil, err
	}
	if gone, changed, withheld, err = w.leaveOut(ctx, gone, append(changed, staged...)); err != nil {
		return nil, nil, err
	}
	var removals bytes.Buffer
	for _, path := range gone {
		fmt.Fprintf(&removals, "0 %s\t%s\x00", zero, path)
	}
	if removals.Len() > 0 {
		if _, err := w.git(ctx, removals.Bytes(), "update-index", "-z", "--index-info"); err != nil {
			return nil, nil, err
		}
	}
	if len(changed) == 0 {
		return beyond, withheld, nil
	}
	slices.Sort(changed)
	list := strings.Join(slices.Compact(changed), "\x00") + "\x00"
	_, err = w.git(ctx, []byte(list), "update-index", "--add", "--remove", "--replace",
		"--ignore-skip-worktree-entries", "-z", "--stdin")
	return beyond, withheld, err
}

// differing lists the files of the index that are gone from the disk, and those
// that are there and different.
func (w writer) differing(ctx context.Context) (gone, changed []string, err error) {
	out, err := w.git(ctx, nil, "diff-files", "-z", "--name-status", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=dirty")
	listed := fields(out)
	for i := 0; i+1 < len(listed); i += 2 {
		if listed[i] == "D" {
			gone = append(gone, listed[i+1])
		} else {
			changed = append(changed, listed[i+1])
		}
	}
	return gone, changed, err
}

// staged lists the files that somebody has added to the copy's own index though
// they are ignored: nothing else would find them.
func (w writer) staged(ctx context.Context) ([]string, error) {
	if w.guard.sparse { // it began with that index
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

// Dirty lists what git status shows of the whole working copy, in order: two letters
// and a path each, as in "?? notes.txt". A folder of new files is one entry. Marks in
// the copy's index hide changes from it; State goes by the files.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal",
		"--ignore-submodules=dirty")
	return fields(out), err
}
