package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Obstacle is why files cannot be updated to a commit: uncommitted changes would be
// lost, or a filter must not run. Nothing was changed.
type Obstacle struct {
	Dir   string   // the working copy
	Files []string // files in the way, as git names them; empty: not known, see Said
	Said  string   // output of git
	// Withheld are files that must not be written because of their filter; nil: that is
	// not the reason.
	Withheld *Withheld
}

// Error returns the reason with the first few of the files.
func (o *Obstacle) Error() string {
	if o.Withheld != nil {
		return o.Withheld.String()
	}
	if len(o.Files) == 0 {
		return fmt.Sprintf("%s: %s", o.Dir, firstLine(strings.TrimPrefix(o.Said, "error: ")))
	}
	return fmt.Sprintf("%s has uncommitted changes in %s", o.Dir, texts.Few(o.Files, 5))
}

// Advance updates the working copy to a commit: its files, its index and the branch
// that it is on, in an order in which an interruption loses nothing. Uncommitted
// changes stay, in ignored files too; if they are in the way, the error is an
// *Obstacle. It wraps ErrMoved if the commit is not ahead of the copy.
//
// Files in the way that already have the content of the commit are no obstacle: an
// interrupted Advance left them.
//
// It also refuses commits with files whose filter must not run (Git.Filters), because
// they would be checked out unfiltered.
func (r *Repo) Advance(ctx context.Context, commit string) error {
	r, err := r.operationTo(ctx, commit)
	if err != nil {
		return err
	}
	return r.follow(ctx, commit)
}

// operationTo is Operation for a move to a commit. It refuses one that has files whose filter must
// not run, with an *Obstacle.
func (r *Repo) operationTo(ctx context.Context, commit string) (*Repo, error) {
	r, err := r.Operation(ctx)
	if err != nil {
		return nil, err
	}
	brought, err := r.withheldBy(ctx, commit)
	if err != nil {
		return nil, err
	}
	if brought != nil {
		return nil, &Obstacle{Dir: r.Top, Files: brought.Files, Withheld: brought}
	}
	return r, nil
}

// Follow is Advance for a copy that Add made: files whose filter must not run are left
// out, as by Add.
func (r *Repo) Follow(ctx context.Context, commit string) error {
	r, err := r.Operation(ctx)
	if err != nil {
		return err
	}
	if err := r.follow(ctx, commit); err != nil {
		return err
	}
	return r.withhold(ctx)
}

// follow is the common part of Advance and Follow.
func (r *Repo) follow(ctx context.Context, commit string) error {
	err := r.advance(ctx, commit)
	var way *Obstacle
	if !errors.As(err, &way) || len(way.Files) == 0 {
		return err
	}
	if same, sameErr := r.adoptFiles(ctx, commit, way.Files); sameErr != nil || !same {
		return errors.Join(err, sameErr)
	}
	return r.advance(ctx, commit)
}

// adoptFiles sets the index entries of files to those of a commit, if all the files
// have the commit's content; otherwise it does nothing.
func (r *Repo) adoptFiles(ctx context.Context, commit string, files []string) (same bool, err error) {
	var entries strings.Builder
	for _, file := range files {
		mode, id, err := r.Entry(ctx, commit, file)
		if err != nil || mode != "100644" && mode != "100755" {
			return false, err
		}
		info, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(file)))
		if err != nil || !info.Mode().IsRegular() {
			return false, nil // it belongs to somebody else
		}
		out, err := r.run(ctx, "hash-object", "--", file) // applies the rules for line endings
		if err != nil || line(out) != id {
			return false, err
		}
		fmt.Fprintf(&entries, "%s %s\t%s\x00", mode, id, file)
	}
	_, err = r.guarded(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(entries.String())})
	return err == nil, err
}

// advance makes one attempt.
func (r *Repo) advance(ctx context.Context, commit string) error {
	_, err := r.run(ctx, "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash",
		"--no-verify-signatures", "--no-overwrite-ignore", commit)
	if exitCode(err) == 0 {
		return err
	}
	has := func(text string) bool { return strings.Contains(printed(err), text) }
	switch {
	case has("Not possible to fast-forward"),
		has("Diverging branches"), has("but expected"):
		return fmt.Errorf("%w: %s", ErrMoved, r.Top)
	case has("would be overwritten"), has("would lose untracked"),
		has("MERGE_HEAD"), has("unmerged files"),
		has("not uptodate"), has("not up to date"):
		return r.obstacle(err)
	}
	return err
}

// obstacle returns the Obstacle that a failed git describes.
func (r *Repo) obstacle(err error) error {
	return &Obstacle{Dir: r.Top, Files: inTheWay(printed(err)), Said: printed(err)}
}

// inTheWay returns the files that git lists, each on a line that begins with a tab.
//
// LC_ALL=C makes the lines around them predictable.
func inTheWay(said string) []string {
	var files []string
	for text := range strings.Lines(said) {
		if name, listed := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "\t"); listed {
			files = append(files, name)
		}
	}
	return files
}

// Switch checks out a commit without a branch, discarding all changes. Ignored files
// stay. It is for copies that nobody works in.
func (r *Repo) Switch(ctx context.Context, commit string) error {
	r, err := r.Operation(ctx)
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

// Entry returns git's file mode and the object id of a path in a commit; both are empty
// if the path does not exist there.
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
