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
)

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

// New is a working copy for AddCopy to create.
type New struct {
	Path   string // absolute; must not exist
	Branch string // short name
	// Base names the commit that Branch starts from; a full id must be that of a commit.
	// Empty: Branch exists already and is checked out as it is.
	Base string
}

// BranchName returns the branch of a member's work.
func BranchName(team, member string) string { return "covey/" + team + "/" + member }

// AddCopy creates a working copy. The error wraps ErrTaken if the folder exists, if the
// branch exists although Base is set, or if another copy uses it; it wraps ErrNoRef if
// there is no such commit. An error leaves nothing of the new copy.
func (r *Repo) AddCopy(ctx context.Context, n New) error {
	if _, err := os.Lstat(n.Path); err == nil {
		return fmt.Errorf("%w: %s is there already", ErrTaken, n.Path)
	}
	r, err := r.Operation(ctx)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + n.Branch
	if n.Base == "" {
		if _, err := r.Commit(ctx, ref); err != nil {
			return err
		}
		return r.addCopy(ctx, n)
	}
	commit := n.Base
	if !isID(commit) {
		if commit, err = r.Commit(ctx, n.Base); err != nil {
			return err
		}
	}
	begin := Step{To: commit, Why: "covey: a working copy begins"}
	if err := r.Move(ctx, ref, begin); err != nil {
		if errors.Is(err, ErrMoved) || blocked(err) {
			return fmt.Errorf("%w: branch %s: %w", ErrTaken, n.Branch, err)
		}
		if _, none := r.Commit(ctx, commit); none != nil {
			return none
		}
		return err
	}
	if err := r.addCopy(ctx, n); err != nil {
		end := Step{From: commit, Why: "covey: the working copy could not be made"}
		return errors.Join(err, r.Move(context.WithoutCancel(ctx), ref, end))
	}
	return nil
}

// addCopy creates a working copy on an existing branch, as part of an operation.
//
// The lock covers this process and one repository only. An error leaves nothing of the
// copy, which would keep its branch checked out.
func (r *Repo) addCopy(ctx context.Context, n New) error {
	// git waits for the locks of other processes; this avoids it within ours.
	r.adding.Lock()
	defer r.adding.Unlock()
	_, err := r.run(ctx, "worktree", "add", "--quiet", n.Path, n.Branch)
	if err == nil {
		err = r.withholdAt(ctx, n.Path)
	}
	if err == nil {
		return nil
	}
	// An interrupted add leaves half a copy, which git lists, and whose branch it
	// refuses on the next attempt. Clean up even if ctx has ended.
	if _, there := os.Lstat(n.Path); there == nil {
		if r.DiscardCopy(context.WithoutCancel(ctx), n.Path) != nil {
			err = errors.Join(err, os.RemoveAll(n.Path)) // not known to git: a folder that git had created
		}
	}
	return orTaken(err)
}

// orTaken marks an error of git that says that a folder or a branch is in use.
func orTaken(err error) error {
	if strings.Contains(printed(err), "already") { // checked out or used elsewhere
		return fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return err
}

// blocked reports whether another branch prevents one: with a branch "covey" there can
// be no "covey/crew/ana".
func blocked(err error) bool { return strings.Contains(printed(err), "cannot create") }

// DetachCopy creates a working copy on a commit, without a branch. The error wraps ErrTaken
// if the folder exists.
func (r *Repo) DetachCopy(ctx context.Context, path, commit string) error {
	r.adding.Lock()
	defer r.adding.Unlock()
	r, err := r.Operation(ctx)
	if err != nil {
		return err
	}
	if _, err = r.run(ctx, "worktree", "add", "--quiet", "--detach", path, commit); err != nil {
		return orTaken(err)
	}
	return r.withholdAt(ctx, path)
}

// withholdAt removes the files with a forbidden filter from a copy that an operation just
// created. The operation has already read the configuration that applies in the copy
// (hiddenEntries).
func (r *Repo) withholdAt(ctx context.Context, top string) error {
	if len(r.known.forbidden) == 0 {
		return nil
	}
	made, err := r.At(ctx, top)
	if err != nil {
		return fmt.Errorf("open the new copy: %w", err)
	}
	return made.withhold(ctx)
}

// RemoveCopy removes a working copy without uncommitted changes. git refuses to remove one
// that has some, or that has submodules; ignored files are deleted. The branch stays.
// For a copy whose folder is gone it removes git's record.
func (r *Repo) RemoveCopy(ctx context.Context, path string) error {
	_, err := r.run(ctx, "worktree", "remove", path)
	return err
}

// DiscardCopy removes a working copy with everything in it. The branch stays.
func (r *Repo) DiscardCopy(ctx context.Context, path string) error {
	_, err := r.run(ctx, "worktree", "remove", "--force", "--force", path)
	return err
}

// RepairCopy updates git's record of a working copy after its folder, or the repository,
// was moved.
func (r *Repo) RepairCopy(ctx context.Context, path string) error {
	_, err := r.run(ctx, "worktree", "repair", path)
	return err
}

// Copies lists the working copies, the main one first.
func (r *Repo) Copies(ctx context.Context) ([]Copy, error) {
	out, err := r.plain(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	return parseCopies(out), nil
}

// On returns the working copy that has a branch checked out; nil: there is none. A copy whose
// folder is gone does not count.
func (r *Repo) On(ctx context.Context, branch string) (*Repo, error) {
	copies, err := r.Copies(ctx)
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

// LinkedCopies lists the working copies except the main one. Without any it does not run git.
func (r *Repo) LinkedCopies(ctx context.Context) ([]Copy, error) {
	if _, err := os.Lstat(filepath.Join(r.Common, "worktrees")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, err := r.Copies(ctx)
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
