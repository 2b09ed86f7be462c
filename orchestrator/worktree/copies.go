package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Copies are the working copies of a repository. They are those of its Repo and of all
// that Repo.At gives.
type Copies struct {
	repo *Repo // seen from the copy in which the repository was opened

	adding sync.Mutex // those that begin in the same moment disturb each other
}

// Copy is a working copy of a repository, as git lists it.
type Copy struct {
	Path   string // its first folder, as git wrote it down
	Head   string // the commit that it is on; zeros: none yet
	Branch string // short name; empty: none
	Bare   bool   // there is no working copy, only the repository
	Locked bool   // git does not remove it unasked
	Begun  bool   // git was cut off while it made the copy: nobody has worked in it
	Gone   string // why git would forget it, such as that its folder is not there; empty: it would not
}

// New is a working copy that Add is to make.
type New struct {
	Path   string // absolute; nothing is there yet
	Branch string // short name
	// Base is the commit that Branch starts from. Empty: Branch exists already, and
	// the copy goes on from where it is.
	Base string
}

// BranchName is the branch of a member's work.
func BranchName(team, member string) string { return "covey/" + team + "/" + member }

// Add makes a working copy. The error wraps ErrTaken if the folder or the branch
// is in the way: the folder is there, the branch exists though Base is set, or it
// is in use by another copy; and ErrNoRef if there is no such commit. After any
// error nothing of the new copy is left.
func (c *Copies) Add(ctx context.Context, n New) error {
	if _, err := os.Lstat(n.Path); err == nil {
		return fmt.Errorf("%w: %s is there already", ErrTaken, n.Path)
	}
	repo, err := c.repo.operation(ctx)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + n.Branch
	if n.Base == "" {
		if _, err := repo.Commit(ctx, ref); err != nil {
			return err
		}
		return c.add(ctx, repo, n)
	}
	commit, err := repo.Commit(ctx, n.Base)
	if err != nil {
		return err
	}
	begin := Step{To: commit, Why: "covey: a working copy begins"}
	if err := repo.Move(ctx, ref, begin); err != nil {
		if errors.Is(err, ErrMoved) || blocked(err) {
			return fmt.Errorf("%w: branch %s: %w", ErrTaken, n.Branch, err)
		}
		return err
	}
	if err := c.add(ctx, repo, n); err != nil {
		end := Step{From: commit, Why: "covey: the working copy could not be made"}
		return errors.Join(err, repo.Move(context.WithoutCancel(ctx), ref, end))
	}
	return nil
}

// add makes a working copy on a branch that exists, as part of an operation.
//
// The lock is of this process alone and of one repository. After an error no trace of
// the copy is left, or its branch would be held by a copy that nobody has.
func (c *Copies) add(ctx context.Context, repo *Repo, n New) error {
	// Those of other processes are waited for as locks are; ours need not come to that.
	c.adding.Lock()
	defer c.adding.Unlock()
	_, err := repo.run(ctx, "worktree", "add", "--quiet", n.Path, n.Branch)
	if err == nil {
		err = withholdAt(ctx, repo, n.Path)
	}
	if err == nil {
		return nil
	}
	// What was cut off is half a copy: git would list it, and refuse its branch to
	// the next try. The context may have ended, and this must be done all the same.
	if _, there := os.Lstat(n.Path); there == nil {
		if c.Discard(context.WithoutCancel(ctx), n.Path) != nil {
			err = errors.Join(err, os.RemoveAll(n.Path)) // git does not know it: it is a folder that git had begun
		}
	}
	var f *Failure
	if errors.As(err, &f) && strings.Contains(f.Stderr, "already") { // checked out, or used by another
		return fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return err
}

// blocked reports whether a branch cannot be because of another one: beside a branch
// "covey" there can be no "covey/crew/ana".
func blocked(err error) bool {
	var f *Failure
	return errors.As(err, &f) && strings.Contains(f.Stderr, "cannot create")
}

// Detach makes a working copy that is on a commit and on no branch. The error wraps
// ErrTaken if the folder is there already.
func (c *Copies) Detach(ctx context.Context, path, commit string) error {
	c.adding.Lock()
	defer c.adding.Unlock()
	repo, err := c.repo.operation(ctx)
	if err != nil {
		return err
	}
	_, err = repo.run(ctx, "worktree", "add", "--quiet", "--detach", path, commit)
	if err == nil {
		return withholdAt(ctx, repo, path)
	}
	var f *Failure
	if errors.As(err, &f) && strings.Contains(f.Stderr, "already") {
		return fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return err
}

// withholdAt takes the files that have a forbidden filter out of a copy that was just made
// by an operation of repo. What may count in the copy, the operation has seen already
// (hiddenEntries).
func withholdAt(ctx context.Context, repo *Repo, top string) error {
	if len(repo.Config.known.forbidden) == 0 {
		return nil
	}
	made, err := repo.At(ctx, top)
	if err != nil {
		return err
	}
	return made.withhold(ctx)
}

// Remove removes a working copy that has nothing that is not committed. git
// refuses it of one that has, or that has submodules; ignored files are lost with
// it. Its branch stays. A copy whose folder is gone is forgotten.
func (c *Copies) Remove(ctx context.Context, path string) error {
	_, err := c.repo.run(ctx, "worktree", "remove", path)
	return err
}

// Discard removes a working copy with all that lies in it. Its branch stays.
func (c *Copies) Discard(ctx context.Context, path string) error {
	_, err := c.repo.run(ctx, "worktree", "remove", "--force", "--force", path)
	return err
}

// Repair mends what git knows of a working copy after its folder, or the
// repository, has been moved.
func (c *Copies) Repair(ctx context.Context, path string) error {
	_, err := c.repo.run(ctx, "worktree", "repair", path)
	return err
}

// List lists the working copies, the repository's first one first.
func (c *Copies) List(ctx context.Context) ([]Copy, error) {
	out, err := c.repo.plain(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	return parseCopies(out), nil
}

// parseCopies reads what `git worktree list --porcelain -z` printed: a line for
// each thing known of a copy, and an empty one after each copy.
func parseCopies(out []byte) []Copy {
	var all []Copy
	for _, text := range strings.Split(string(out), "\x00") {
		key, value, _ := strings.Cut(text, " ")
		if key == "worktree" {
			all = append(all, Copy{Path: filepath.Clean(value)})
			continue
		}
		if len(all) == 0 {
			continue
		}
		c := &all[len(all)-1]
		switch key {
		case "HEAD":
			c.Head = value
		case "branch":
			c.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			c.Bare = true
		case "locked":
			c.Locked, c.Begun = true, value == "initializing"
		case "prunable":
			c.Gone = value
		}
	}
	return all
}
