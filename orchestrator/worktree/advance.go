package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Obstacle is why files cannot be brought up to a commit: somebody's changes that
// are in no commit would be lost, or a filter must not run. Nothing has been touched.
type Obstacle struct {
	Dir   string   // the working copy
	Files []string // in the way, as git names them; empty: git did not say, see Said
	Said  string   // what git said
	// Withheld are files that must not be written there, because of their filter; nil:
	// that is not why.
	Withheld *Withheld
}

// Error names the first few of the files.
func (o *Obstacle) Error() string {
	if o.Withheld != nil {
		return o.Withheld.String()
	}
	if len(o.Files) == 0 {
		return fmt.Sprintf("%s: %s", o.Dir, firstLine(strings.TrimPrefix(o.Said, "error: ")))
	}
	const shown = 5
	list := strings.Join(o.Files[:min(len(o.Files), shown)], ", ")
	if more := len(o.Files) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s has changes that no commit holds, in %s", o.Dir, list)
}

// Advance brings the working copy forward to a commit: its files, its index and the
// branch that it is on, in the order in which a cut in between loses nothing. What
// somebody has changed and not committed stays as it is, be it ignored; where that
// cannot be the error is an *Obstacle. It wraps ErrMoved if the commit is not ahead
// of where the copy is.
//
// Files in the way that are already as the commit has them are no obstacle: a git that
// was killed on this very way has left them so.
//
// Nor does it bring in files with a filter that must not run (Git.Filters): they would
// stand there as the filter has stored them.
func (r *Repo) Advance(ctx context.Context, commit string) error {
	r, err := r.operation(ctx)
	if err != nil {
		return err
	}
	brought, err := r.brings(ctx, commit)
	if err != nil {
		return err
	}
	if brought != nil {
		return &Obstacle{Dir: r.Top, Files: brought.Files, Withheld: brought}
	}
	return r.follow(ctx, commit)
}

// Follow is Advance for a copy that Add has made: files with a filter that must not run
// are left out, as they were by Add.
func (r *Repo) Follow(ctx context.Context, commit string) error {
	r, err := r.operation(ctx)
	if err != nil {
		return err
	}
	if err := r.follow(ctx, commit); err != nil {
		return err
	}
	return r.withhold(ctx)
}

// follow is what both have in common.
func (r *Repo) follow(ctx context.Context, commit string) error {
	err := r.advance(ctx, commit)
	var way *Obstacle
	if !errors.As(err, &way) || len(way.Files) == 0 {
		return err
	}
	if same, sameErr := r.takeUp(ctx, commit, way.Files); sameErr != nil || !same {
		return errors.Join(err, sameErr)
	}
	return r.advance(ctx, commit)
}

// takeUp has the index say of files what a commit says, if all of them are as the commit
// has them; else it does nothing.
func (r *Repo) takeUp(ctx context.Context, commit string, files []string) (same bool, err error) {
	var entries strings.Builder
	for _, file := range files {
		mode, id, err := r.Entry(ctx, commit, file)
		if err != nil || mode != "100644" && mode != "100755" {
			return false, err
		}
		info, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(file)))
		if err != nil || !info.Mode().IsRegular() {
			return false, nil // somebody's, whatever it is
		}
		out, err := r.run(ctx, "hash-object", "--", file) // by the rules for ends of lines
		if err != nil || line(out) != id {
			return false, err
		}
		fmt.Fprintf(&entries, "%s %s\t%s\x00", mode, id, file)
	}
	_, err = r.guarded(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(entries.String())})
	return err == nil, err
}

// advance is one try.
func (r *Repo) advance(ctx context.Context, commit string) error {
	_, err := r.run(ctx, "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash",
		"--no-verify-signatures", "--no-overwrite-ignore", commit)
	var f *Failure
	if !errors.As(err, &f) || f.Code <= 0 {
		return err
	}
	switch {
	case strings.Contains(f.Stderr, "Not possible to fast-forward"),
		strings.Contains(f.Stderr, "Diverging branches"), strings.Contains(f.Stderr, "but expected"):
		return fmt.Errorf("%w: %s", ErrMoved, r.Top)
	case strings.Contains(f.Stderr, "would be overwritten"), strings.Contains(f.Stderr, "would lose untracked"),
		strings.Contains(f.Stderr, "MERGE_HEAD"), strings.Contains(f.Stderr, "unmerged files"),
		strings.Contains(f.Stderr, "not uptodate"), strings.Contains(f.Stderr, "not up to date"):
		return &Obstacle{Dir: r.Top, Files: inTheWay(f.Stderr), Said: f.Stderr}
	}
	return err
}

// inTheWay reads the files that git lists, each on a line that a tab begins.
//
// Names come as git prints them; with LC_ALL=C the lines around them are known.
func inTheWay(said string) []string {
	var files []string
	for text := range strings.Lines(said) {
		if name, listed := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "\t"); listed {
			files = append(files, name)
		}
	}
	return files
}

// Switch puts the working copy on a commit and on no branch, and its files in the
// state of that commit, whatever lay there. Ignored files stay. It is for copies
// that nobody works in.
func (r *Repo) Switch(ctx context.Context, commit string) error {
	r, err := r.operation(ctx)
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, "checkout", "--quiet", "--force", "--detach", commit, "--"); err != nil {
		return err
	}
	if _, err := r.run(ctx, "clean", "--quiet", "-d", "--force", "--force"); err != nil {
		return err
	}
	return r.withhold(ctx)
}

// Entry is what a commit has at a path: git's file mode and the id of the content;
// both are empty if it has nothing there.
func (r *Repo) Entry(ctx context.Context, rev, path string) (mode, id string, err error) {
	out, err := r.git.run(ctx, call{args: []string{"ls-tree", "-z", "--full-tree", rev, "--", path}, dir: r.Top})
	if err != nil {
		return "", "", err
	}
	about, _, _ := strings.Cut(string(out), "\t")
	if f := strings.Fields(about); len(f) == 3 {
		return f[0], f[2], nil
	}
	return "", "", nil
}
