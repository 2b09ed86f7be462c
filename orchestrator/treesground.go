package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// checkTrees is refuseDemands and refuseNames before anything starts. git is asked only
// if somebody demands a working copy, or the spec names what a repository should have.
func checkTrees(git worktree.Git, team *configs.Team, l layers) error {
	if err := refuseNames(git, team, makesTrees(l)); err != nil {
		return err
	}
	if !slices.ContainsFunc(team.Members(), func(m configs.Member) bool { return m.Isolation == configs.InWorktree }) {
		return nil
	}
	_, _, fault := groundOf(context.Background(), git, team) // each call of git has a time limit of its own
	return refuseDemands(team, fault, makesTrees(l))
}

// refuseDemands is the error of a team in which somebody must have a working copy
// and cannot.
func refuseDemands(team *configs.Team, fault error, hooked bool) error {
	if fault == nil || hooked {
		return nil
	}
	var must []string
	for _, m := range team.Members() {
		if m.Isolation == configs.InWorktree {
			must = append(must, m.Name)
		}
	}
	if len(must) == 0 {
		return nil
	}
	return wording.Errorf(ErrSpec, "isolation: worktree of %s cannot be: %v; or write isolation: shared",
		strings.Join(must, ", "), fault)
}

// refuseNames is the error of a spec that names a base or a target that the repository
// does not have. The team would do something else than it was asked: share the workspace
// for want of the base, or leave all finished work where it is for want of the target.
// hooked: a hook makes the copies, from whatever it likes.
func refuseNames(git worktree.Git, team *configs.Team, hooked bool) error {
	ctx := context.Background() // each call of git has a time limit of its own
	base, into := team.Worktree.Base, team.Merge.Into
	if base == "" && !team.Merge.Given || hooked {
		return nil
	}
	look := OutlookOf(ctx, team)
	repo, err := git.Open(ctx, team.Workspace)
	if err != nil || len(look.Members) == 0 {
		return nil // without working copies neither counts, and the members are told
	}
	if _, err := repo.Commit(ctx, cmp.Or(base, "HEAD")); base != "" && err != nil {
		return wording.Errorf(ErrSpec, "worktree.base: %v; correct it, or leave it out for what the workspace is on", err)
	}
	if look.Fault != nil || !team.Merge.Given {
		return nil
	}
	if into == "" {
		if head, err := repo.Head(ctx); err == nil && head.Branch == "" {
			return wording.Errorf(ErrSpec, "merge: %s is on no branch: check one out, or name one (merge: {into: main})", repo.Top)
		}
	} else if _, err := repo.Commit(ctx, "refs/heads/"+into); err != nil {
		return wording.Errorf(ErrSpec, "merge.into: there is no branch %s in %s; make it (git branch %s), or name another",
			into, repo.Top, into)
	}
	return nil
}

// makesTrees reports whether a hook is to make working copies.
func makesTrees(l layers) bool {
	for _, s := range l.sources {
		for _, g := range s.Settings["WorktreeCreate"] {
			if len(g.Hooks) > 0 {
				return true
			}
		}
	}
	return false
}

// Outlook is what a team's members can expect of working copies, before it starts.
type Outlook struct {
	Members []string // who would have a git working copy of its own; empty: nobody
	Fault   error    // why they cannot, with the way out; nil: they can
	// Repository says that the workspace looks like one of a repository, so that a Fault
	// is no choice of the user's.
	Repository bool
}

// OutlookOf tells what would become of a team's working copies. It makes nothing.
func OutlookOf(ctx context.Context, team *configs.Team) Outlook {
	look := Outlook{Repository: inRepository(team.Workspace)}
	all := team.Members()
	for _, m := range all {
		if isolationOf(m, all, true) == configs.InWorktree {
			look.Members = append(look.Members, m.Name)
		}
	}
	if len(look.Members) > 0 {
		_, _, look.Fault = groundOf(ctx, worktree.Git{}, team) // it only reads, so nothing runs
	}
	return look
}

// groundOf is the repository that working copies can be made of, and the commit that
// they begin from; or why there can be none, with the way out.
func groundOf(ctx context.Context, git worktree.Git, team *configs.Team) (*worktree.Repo, string, error) {
	if !inRepository(team.Workspace) { // git need not be asked, nor be there
		return nil, "", fmt.Errorf("%w: %s lies in none; `git init` and a first commit make it one",
			worktree.ErrNoRepo, team.Workspace)
	}
	if _, err := git.Require(ctx); err != nil {
		return nil, "", err
	}
	repo, err := git.Open(ctx, team.Workspace)
	if err != nil {
		return nil, "", err
	}
	commit, err := baseOf(ctx, repo, team)
	if err != nil {
		return nil, "", err
	}
	tracked, err := repo.Tracked(ctx, commit, repo.Prefix)
	switch {
	case err != nil:
		return nil, "", err
	case !tracked:
		return nil, "", fmt.Errorf("%s has no files in commit %.10s of its repository %s; commit some",
			team.Workspace, commit, repo.Top)
	}
	return repo, commit, nil
}

// baseOf is the commit that new working copies begin from. It moves with its branch.
func baseOf(ctx context.Context, repo *worktree.Repo, team *configs.Team) (string, error) {
	base := cmp.Or(team.Worktree.Base, "HEAD")
	commit, err := repo.Commit(ctx, base)
	switch {
	case err != nil && base == "HEAD":
		return "", fmt.Errorf("the repository of %s has %w; make a first one", team.Workspace, worktree.ErrNoCommit)
	case err != nil:
		return "", fmt.Errorf("worktree.base: %w", err)
	}
	return commit, nil
}

// inRepository reports whether a folder looks like one of a repository, which is not
// known where git does not run.
func inRepository(dir string) bool {
	if real, err := state.RealPath(dir); err == nil {
		dir = real
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}
