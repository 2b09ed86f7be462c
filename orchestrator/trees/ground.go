package trees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// ErrSpec is wrapped where a spec asks for what the repository of its workspace does not
// allow.
var ErrSpec = errors.New("the repository does not allow it")

// ground is what working copies are made of.
type ground struct {
	repo  *worktree.Repo // of the workspace; nil: there can be no working copies
	base  string         // the commit that new ones begin from
	fault error          // why repo is nil
}

// Check reports whether a team could have the working copies that its spec demands, and
// whether the repository has what the spec names. sources are the team's hooks. The error
// wraps ErrSpec. git is asked only if somebody demands a working copy, or the spec names
// what a repository should have.
func Check(git worktree.Git, team *configs.Team, sources []settings.Source) error {
	if err := refuseNames(git, team, makesTrees(sources)); err != nil {
		return err
	}
	if !slices.ContainsFunc(team.Members(), func(m configs.Member) bool { return m.Isolation == configs.InWorktree }) {
		return nil
	}
	g := groundOf(context.Background(), git, team) // each call of git has a time limit of its own
	return refuseDemands(team, g.fault, makesTrees(sources))
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
	return notation.Errorf(ErrSpec, "isolation: worktree of %s cannot be: %v; or write isolation: shared",
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
		return notation.Errorf(ErrSpec, "worktree.base: %v; correct it, or leave it out for what the workspace is on", err)
	}
	if look.Fault != nil || !team.Merge.Given {
		return nil
	}
	if into == "" {
		if head, err := repo.Head(ctx); err == nil && head.Branch == "" {
			return notation.Errorf(ErrSpec, "merge: %s is on no branch: check one out, or name one (merge: {into: main})", repo.Top)
		}
	} else if _, err := repo.Commit(ctx, "refs/heads/"+into); err != nil {
		return notation.Errorf(ErrSpec, "merge.into: there is no branch %s in %s; make it (git branch %s), or name another",
			into, repo.Top, into)
	}
	return nil
}

// makesTrees reports whether a hook is to make working copies.
func makesTrees(sources []settings.Source) bool {
	for _, s := range sources {
		for _, g := range s.Settings[hooks.WorktreeCreate] {
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
		look.Fault = groundOf(ctx, worktree.Git{}, team).fault // it only reads, so nothing runs
	}
	return look
}

// groundOf finds the repository that working copies can be made of, and the commit that
// they begin from; or why there can be none, with the way out.
func groundOf(ctx context.Context, git worktree.Git, team *configs.Team) ground {
	repo, commit, err := openGround(ctx, git, team)
	if err != nil {
		return ground{fault: err}
	}
	return ground{repo: repo, base: commit}
}

func openGround(ctx context.Context, git worktree.Git, team *configs.Team) (*worktree.Repo, string, error) {
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

// rootIn is the workspace's place in another working copy.
func (g ground) rootIn(top string) string {
	return filepath.Join(top, filepath.FromSlash(g.repo.Prefix))
}

// copyAt is what git knows of a working copy at path.
func (g ground) copyAt(ctx context.Context, path string) (worktree.Copy, bool, error) {
	all, err := g.repo.Copies.List(ctx)
	i := slices.IndexFunc(all, func(c worktree.Copy) bool { return c.Path == path })
	if err != nil || i < 0 {
		return worktree.Copy{}, false, err
	}
	return all[i], true, nil
}

// target is the commit that finished work is in: that of the branch into, or without one,
// or if it is empty, of what the workspace is on.
func (g ground) target(ctx context.Context, into string) (string, error) {
	if into != "" {
		if commit, err := g.repo.Commit(ctx, "refs/heads/"+into); !errors.Is(err, worktree.ErrNoRef) {
			return commit, err
		}
	}
	return g.repo.Commit(ctx, "HEAD")
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

// inRepository reports whether a folder looks like one of a repository.
func inRepository(dir string) bool {
	if real, err := state.RealPath(dir); err == nil {
		dir = real
	}
	return worktree.InRepository(dir)
}

// CanWrite reports whether a member can change files. A plan that is to be approved
// is a matter of when, not of whether.
func CanWrite(m configs.Member) bool {
	if m.PermissionMode == configs.Plan {
		return false
	}
	return m.Tools == nil || slices.ContainsFunc(m.Tools, func(tool string) bool {
		return slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit", "Bash"}, tool)
	})
}

// isolationOf is where a member works: as its spec says, or in a working copy of its
// own if it is one of several who can write, and there can be such copies.
func isolationOf(m configs.Member, members []configs.Member, able bool) configs.Isolation {
	if m.Isolation != "" {
		return m.Isolation
	}
	writers := 0
	for _, other := range members {
		if CanWrite(other) {
			writers++
		}
	}
	if able && CanWrite(m) && writers > 1 {
		return configs.InWorktree
	}
	return configs.Shared
}
