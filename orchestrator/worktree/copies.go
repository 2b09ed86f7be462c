package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Copies manages the working copies of a repository. A Repo and those that its At
// returns share it.
type Copies struct {
	repo *Repo // seen from the copy where it was opened

	adding *sync.Mutex // git cannot add several at the same time
}

// Copy is a working copy of a repository, as git lists it.
type Copy struct {
	Path   string // its top folder, as git recorded it
	Head   string // its commit; zeros: none yet
	Branch string // short name; empty: none
	Bare   bool   // a repository without a working copy
	Locked bool   // git removes it only if forced
	Begun  bool   // git was interrupted while creating it: nobody has worked in it
	Gone   string // why git would prune it, such as a missing folder; empty: it would not
}

// New is a working copy for Add to create.
type New struct {
	Path   string // absolute; must not exist
	Branch string // short name
	// Base names the commit that Branch starts from; a full id must be that of a commit.
	// Empty: Branch exists already and is checked out as it is.
	Base string
}

// BranchName returns the branch of a member's work.
func BranchName(team, member string) string { return "covey/" + team + "/" + member }

// Add creates a working copy. The error wraps ErrTaken if the folder exists, if the
// branch exists although Base is set, or if another copy uses it; it wraps ErrNoRef if
// there is no such commit. An error leaves nothing of the new copy.
func (c *Copies) Add(ctx context.Context, n New) error {
	if _, err := os.Lstat(n.Path); err == nil {
		return fmt.Errorf("%w: %s is there already", ErrTaken, n.Path)
	}
	repo, err := c.repo.Operation(ctx)
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
	commit := n.Base
	if !isID(commit) {
		if commit, err = repo.Commit(ctx, n.Base); err != nil {
			return err
		}
	}
	begin := Step{To: commit, Why: "covey: a working copy begins"}
	if err := repo.Move(ctx, ref, begin); err != nil {
		if errors.Is(err, ErrMoved) || blocked(err) {
			return fmt.Errorf("%w: branch %s: %w", ErrTaken, n.Branch, err)
		}
		if _, none := repo.Commit(ctx, commit); none != nil {
			return none
		}
		return err
	}
	if err := c.add(ctx, repo, n); err != nil {
		end := Step{From: commit, Why: "covey: the working copy could not be made"}
		return errors.Join(err, repo.Move(context.WithoutCancel(ctx), ref, end))
	}
	return nil
}

// add creates a working copy on an existing branch, as part of an operation.
//
// The lock covers this process and one repository only. An error leaves nothing of the
// copy, which would keep its branch checked out.
func (c *Copies) add(ctx context.Context, repo *Repo, n New) error {
	// git waits for the locks of other processes; this avoids it within ours.
	c.adding.Lock()
	defer c.adding.Unlock()
	_, err := repo.run(ctx, "worktree", "add", "--quiet", n.Path, n.Branch)
	if err == nil {
		err = withholdAt(ctx, repo, n.Path)
	}
	if err == nil {
		return nil
	}
	// An interrupted add leaves half a copy, which git lists, and whose branch it
	// refuses on the next attempt. Clean up even if ctx has ended.
	if _, there := os.Lstat(n.Path); there == nil {
		if c.Discard(context.WithoutCancel(ctx), n.Path) != nil {
			err = errors.Join(err, os.RemoveAll(n.Path)) // not known to git: a folder that git had created
		}
	}
	var f *Failure
	if errors.As(err, &f) && strings.Contains(f.Stderr, "already") { // checked out or used elsewhere
		return fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return err
}

// blocked reports whether another branch prevents one: with a branch "covey" there can
// be no "covey/crew/ana".
func blocked(err error) bool {
	var f *Failure
	return errors.As(err, &f) && strings.Contains(f.Stderr, "cannot create")
}

// Detach creates a working copy on a commit, without a branch. The error wraps ErrTaken
// if the folder exists.
func (c *Copies) Detach(ctx context.Context, path, commit string) error {
	c.adding.Lock()
	defer c.adding.Unlock()
	repo, err := c.repo.Operation(ctx)
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

// withholdAt removes the files with a forbidden filter from a copy that an operation of repo just
// created. The operation has already read the configuration that applies in the copy
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

// Remove removes a working copy without uncommitted changes. git refuses to remove one
// that has some, or that has submodules; ignored files are deleted. The branch stays.
// For a copy whose folder is gone it removes git's record.
func (c *Copies) Remove(ctx context.Context, path string) error {
	_, err := c.repo.run(ctx, "worktree", "remove", path)
	return err
}

// Discard removes a working copy with everything in it. The branch stays.
func (c *Copies) Discard(ctx context.Context, path string) error {
	_, err := c.repo.run(ctx, "worktree", "remove", "--force", "--force", path)
	return err
}

// Repair updates git's record of a working copy after its folder, or the repository,
// was moved.
func (c *Copies) Repair(ctx context.Context, path string) error {
	_, err := c.repo.run(ctx, "worktree", "repair", path)
	return err
}

// List lists the working copies, the main one first.
func (c *Copies) List(ctx context.Context) ([]Copy, error) {
	out, err := c.repo.plain(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	return parseCopies(out), nil
}

// On returns the working copy that has a branch checked out; nil: there is none. A copy whose
// folder is gone does not count.
func (r *Repo) On(ctx context.Context, branch string) (*Repo, error) {
	copies, err := r.Copies.List(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(copies, func(c Copy) bool { return c.Branch == branch && !c.Bare && c.Gone == "" })
	if i < 0 {
		return nil, nil
	}
	there, err := r.At(ctx, copies[i].Path)
	if err != nil {
		return nil, fmt.Errorf("%s is checked out in %s: %w", branch, copies[i].Path, err)
	}
	return there, nil
}

// Linked lists the working copies except the main one. Without any it does not run git.
func (c *Copies) Linked(ctx context.Context) ([]Copy, error) {
	if _, err := os.Lstat(filepath.Join(c.repo.Common, "worktrees")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, err := c.List(ctx)
	return all[min(len(all), 1):], err
}

// parseCopies parses the output of `git worktree list --porcelain -z`: a line for each
// attribute of a copy, and an empty one after each copy.
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
