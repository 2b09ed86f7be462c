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

// Copy is a working copy of a repository, as git lists it; clones are none.
type Copy struct {
	Path   string // its top folder, as git recorded it
	Head   string // its commit; zeros: none yet
	Branch string // short name; empty: none
	Bare   bool   // a repository without a working copy
	Gone   string // why git would prune it, such as a missing folder; empty: it would not
}

// BranchName returns the branch of a member's work.
func BranchName(team, member string) string { return "covey/" + team + "/" + member }

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
		case "prunable":
			c.Gone = value
		}
	}
	return all
}
