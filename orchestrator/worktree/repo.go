package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Repo is a repository, seen from one of its working copies. Open one with Git.Open.
type Repo struct {
	Dir    string // the folder that was opened; absolute, without symlinks
	Top    string // the top of the working copy; absolute, without symlinks
	Prefix string // Dir relative to Top, slash-separated; empty: they are the same
	// GitDir holds the data of this working copy, Common that of all copies; both are
	// absolute. They are equal in the main copy.
	GitDir, Common string
	Shallow        bool // its history is truncated

	git     Git
	known   *guard // shared by the commands of one operation; nil: each command reads the configuration
	borrows bool   // it is a clone that covey has made
	lent    *lent  // nil: nobody lends it anything, or it is nobody's
}

// Require reports whether the installed git is usable, which is 2.38, the first with
// merge-tree --write-tree, or newer. The error wraps ErrNoGit if there is none, or if it is too old.
func (g Git) Require(ctx context.Context) error {
	out, err := g.once(ctx, call{args: []string{"version"}, dir: "."})
	if err != nil {
		return err
	}
	major, minor, ok := versionIn(line(out))
	switch {
	case !ok:
		return fmt.Errorf("%w: it prints %q as its version", ErrNoGit, line(out))
	case major < 2 || major == 2 && minor < 38:
		return fmt.Errorf("%w: it is git %d.%d; worktrees need 2.38 or newer", ErrNoGit, major, minor)
	}
	return nil
}

// versionIn reads "git version 2.39.5 (Apple Git-154)".
func versionIn(text string) (major, minor int, ok bool) {
	n, _ := fmt.Sscanf(text, "git version %d.%d", &major, &minor)
	return major, minor, n == 2
}

// Open opens the repository of a folder. The error wraps ErrNoRepo if there is none, if
// it has no working copy, or if its configuration places the working copy elsewhere.
func (g Git) Open(ctx context.Context, dir string) (*Repo, error) {
	r, _, err := g.open(ctx, dir)
	return r, err
}

// OpenHead is Open, and returns what the copy has checked out.
func (g Git) OpenHead(ctx context.Context, dir string) (*Repo, Head, error) {
	r, said, err := g.open(ctx, dir, headArgs...)
	if err != nil {
		return nil, Head{}, err
	}
	if h, ok := parseHead(said); ok {
		return r, h, nil
	}
	h, err := r.Head(ctx) // the branch has no commit
	return r, h, err
}

// open also returns what rev-parse prints about the head, in the same call of git. more
// are the arguments for that. Without a commit there is nothing to print.
func (g Git) open(ctx context.Context, dir string, more ...string) (*Repo, []string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open a repository: %w", err)
	}
	r := &Repo{Dir: real, git: g}
	out, err := r.plain(ctx, append([]string{"rev-parse", "--is-bare-repository", "--is-inside-work-tree",
		"--is-shallow-repository", "--path-format=absolute", "--git-dir", "--git-common-dir",
		"--show-toplevel"}, more...)...)
	said := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(said) > 1 && (said[0] == "true" || said[1] != "true") { // git then fails at --show-toplevel
		return nil, nil, fmt.Errorf("%w: the repository of %s has no working copy", ErrNoRepo, real)
	}
	const folders = 6
	want := folders
	switch exited := exitCode(err) > 0; {
	case exited && (len(said) < folders || more == nil):
		words := firstLine(printed(err))
		if strings.HasPrefix(words, "not a git repository") { // ErrNoRepo says so
			return nil, nil, fmt.Errorf("%w: %s", ErrNoRepo, real)
		}
		return nil, nil, fmt.Errorf("%w: %s: %s", ErrNoRepo, real, words)
	case err != nil && !exited:
		return nil, nil, err
	case exited && slices.Equal(said[folders:], more[:1]): // git repeats what it does not know
		said = said[:folders]
	case err == nil && more != nil:
		want += headLines
	}
	if len(said) != want {
		return nil, nil, fmt.Errorf("%w: %s: git does not print its path; it may contain a line break", ErrNoRepo, real)
	}
	r.Shallow, r.GitDir, r.Common = said[2] == "true", said[3], said[4]
	if err := r.locate(said[5]); err != nil {
		return nil, nil, err
	}
	return r, said[folders:], nil
}

// InRepository reports whether a folder, a path without symlinks, looks like part of a
// repository. It does not run git. An empty folder .git, such as sandboxes make for the time of a
// command, is none, as for git.
func InRepository(dir string) bool {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil && info.IsDir() {
			git = filepath.Join(git, "HEAD")
		}
		if _, err := os.Lstat(git); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

// locate sets the top of the working copy, as reported by git.
func (r *Repo) locate(folder string) error {
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoRepo, err)
	}
	below, err := filepath.Rel(top, r.Dir)
	// A repository may configure any folder as its working copy (core.worktree), and
	// operations would change files there.
	if err != nil || !filepath.IsLocal(below) {
		return fmt.Errorf("%w: the repository of %s places its files in %s", ErrNoRepo, r.Dir, top)
	}
	if r.Top = top; below != "." {
		r.Prefix = filepath.ToSlash(below)
	}
	return nil
}

// At returns the same repository seen from the top of another of its working copies.
func (r *Repo) At(ctx context.Context, top string) (*Repo, error) {
	other, err := r.git.Open(ctx, top)
	if err != nil {
		return nil, err
	}
	return other, r.join(other)
}

// AtHead is At, and returns what the copy has checked out.
func (r *Repo) AtHead(ctx context.Context, top string) (*Repo, Head, error) {
	other, h, err := r.git.OpenHead(ctx, top)
	if err == nil {
		err = r.join(other)
	}
	return other, h, err
}

// join returns an error that wraps ErrNoRepo if another working copy is not of the same repository.
func (r *Repo) join(other *Repo) error {
	if other.Common != r.Common {
		return fmt.Errorf("%w: %s belongs to another repository, %s", ErrNoRepo, other.Dir, other.Common)
	}
	return nil
}

// plain runs a git command that touches no working files.
func (r *Repo) plain(ctx context.Context, args ...string) ([]byte, error) {
	return r.git.run(ctx, call{args: args, dir: r.Dir})
}

// run runs any other git command, in the top of the working copy.
func (r *Repo) run(ctx context.Context, args ...string) ([]byte, error) {
	return r.guarded(ctx, call{args: args, limit: slow})
}

// guarded is run with more parameters.
func (r *Repo) guarded(ctx context.Context, c call) ([]byte, error) {
	if c.dir = r.Top; c.guard == nil {
		var err error
		if c.guard, err = r.guard(ctx); err != nil {
			return nil, err
		}
	}
	return r.git.run(ctx, c)
}

// Operation returns the repository for calls that follow each other at once and read the
// configuration only once: now, or when the operation that r is for began. A change
// of the configuration meanwhile is not seen.
func (r *Repo) Operation(ctx context.Context) (*Repo, error) {
	guard, err := r.guard(ctx)
	if err != nil {
		return nil, err
	}
	of := *r
	of.known = guard
	return &of, nil
}

// firstLine returns the first line of a text without git's "fatal: ".
func firstLine(text string) string {
	return strings.TrimPrefix(line([]byte(text)), "fatal: ")
}
