package workcopies

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
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// ground is what working copies are created from.
type ground struct {
	repo  *worktree.Repo // of the workspace; nil: there can be no working copies
	base  string         // the commit that new copies start from
	fault error          // why repo is nil
}

// Check reports whether a team can have the working copies that its spec requires, and
// whether the repository has the branches and commits that the spec names. sources are
// the team's hooks. The error wraps configs.ErrSpec. Check runs git only if the spec requires
// it.
func Check(git worktree.Git, team *configs.Team, sources []settings.Source) error {
	if err := refuseNames(git, team, MadeByHook(sources)); err != nil {
		return err
	}
	own := func(m *configs.Member) bool { return m.Isolation == configs.InWorktree }
	if !slices.ContainsFunc(slices.Collect(team.EachAndTemplates()), own) {
		return nil
	}
	g := groundOf(context.Background(), git, team) // each call of git has its own time limit
	return refuseDemands(team, g.fault, MadeByHook(sources))
}

// refuseDemands returns an error for a team in which a member must have a working copy
// and cannot. If a program is missing, that is each that is to have one: installing it helps
// more than sharing the workspace.
func refuseDemands(team *configs.Team, fault error, hooked bool) error {
	if fault == nil || hooked {
		return nil
	}
	var must []string
	for m := range team.EachAndTemplates() {
		if m.Isolation == configs.InWorktree ||
			errors.Is(fault, worktree.ErrNoFilter) && isolationOf(*m, team, true) == configs.InWorktree {
			must = append(must, m.Name)
		}
	}
	if len(must) == 0 {
		return nil
	}
	if errors.Is(fault, worktree.ErrNoFilter) {
		return texts.Errorf(configs.ErrSpec, "no working copy can be made for %s: %v", strings.Join(must, ", "), fault)
	}
	return texts.Errorf(configs.ErrSpec, "isolation: worktree of %s is not possible: %v; or write isolation: shared",
		strings.Join(must, ", "), fault)
}

// refuseNames returns an error for a spec that names a base or a target that the
// repository does not have. Otherwise the team would share the workspace without the
// base, or leave all finished work unmerged without the target. hooked says that a hook
// creates the copies, from any base.
func refuseNames(git worktree.Git, team *configs.Team, hooked bool) error {
	ctx := context.Background() // each call of git has its own time limit
	base, into := team.Worktree.Base, team.Merge.Into
	if base == "" && !team.Merge.Given || hooked {
		return nil
	}
	look := OutlookOf(ctx, team)
	repo, err := git.Open(ctx, team.Workspace)
	if err != nil || len(look.Members) == 0 {
		return nil // without working copies neither applies, and the members are told
	}
	if base != "" {
		if _, err := repo.Commit(ctx, base); err != nil {
			return texts.Errorf(configs.ErrSpec, "worktree.base: %v; correct it, or omit it to use the workspace's commit", err)
		}
	}
	if look.Fault != nil || !team.Merge.Given {
		return nil
	}
	if into == "" {
		if head, err := repo.Head(ctx); err == nil && head.Branch == "" {
			return texts.Errorf(configs.ErrSpec, "merge: %s is on no branch: check one out, or name one (merge: {into: main})", repo.Top)
		}
	} else if _, err := repo.Commit(ctx, "refs/heads/"+into); err != nil {
		return texts.Errorf(configs.ErrSpec, "merge.into: there is no branch %s in %s; create it (git branch %s), or name another",
			into, repo.Top, into)
	}
	return nil
}

// MadeByHook reports whether a hook of a team creates its working copies.
func MadeByHook(sources []settings.Source) bool {
	for _, s := range sources {
		if slices.ContainsFunc(s.Settings[hooks.WorktreeCreate], func(g hooks.Group) bool { return len(g.Hooks) > 0 }) {
			return true
		}
	}
	return false
}

// Outlook describes which working copies a team's members will have, before it starts.
type Outlook struct {
	Members []string // members that would have their own git working copy
	Fault   error    // why they cannot, and what to do; nil: they can
	Hook    string   // why the repository's pre-commit hook judges nothing, and what to do; empty: nothing to say
	// Repository means that the workspace looks like part of a repository, so that a
	// Fault is not the user's choice.
	Repository bool
}

// OutlookOf returns the outlook of a team. It creates nothing.
func OutlookOf(ctx context.Context, team *configs.Team) Outlook {
	look := Outlook{Repository: inRepository(team.Workspace)}
	for m := range team.EachAndTemplates() {
		if isolationOf(*m, team, true) == configs.InWorktree {
			look.Members = append(look.Members, m.Name)
		}
	}
	if len(look.Members) > 0 {
		g := groundOf(ctx, worktree.Git{}, team) // it only reads, so nothing runs
		if look.Fault = g.fault; g.repo != nil {
			look.Hook = uncheckedHook(ctx, g.repo, team)
		}
	}
	return look
}

// uncheckedHook reports that the pre-commit hook of a repository judges no work of a team, because
// covey's commits run no hooks and no gate does; empty: it has none, or a gate runs it.
func uncheckedHook(ctx context.Context, repo *worktree.Repo, team *configs.Team) string {
	gate := repo.PreCommit(ctx)
	for _, groups := range []([]hooks.Group){team.Gates[hooks.TaskCompleted], {{Hooks: team.Merge.Gates}}} {
		for _, g := range groups {
			if slices.ContainsFunc(g.Hooks, func(h hooks.Handler) bool { return strings.Contains(h.Command, "pre-commit") }) {
				return ""
			}
		}
	}
	if gate == "" {
		return ""
	}
	return fmt.Sprintf("the repository's pre-commit hook does not run when covey commits finished work; "+
		"a gate makes it count: gates: {task: [%q]}", gate)
}

// groundOf finds the repository for working copies and the commit that they start from;
// or why there are none, with the way out.
func groundOf(ctx context.Context, git worktree.Git, team *configs.Team) ground {
	repo, commit, err := openGround(ctx, git, team)
	if err != nil {
		return ground{fault: err}
	}
	return ground{repo: repo, base: commit}
}

// openGround opens the workspace's repository and finds the commit. Its checks are in the
// order of what people can do about them: a repository, a git that is new enough, a commit,
// files in it.
func openGround(ctx context.Context, git worktree.Git, team *configs.Team) (*worktree.Repo, string, error) {
	if !inRepository(team.Workspace) { // git need not be installed
		return nil, "", fmt.Errorf("%w: %s is in none; `git init` and a first commit create one",
			worktree.ErrNoRepo, team.Workspace)
	}
	if err := git.Require(ctx); err != nil {
		return nil, "", err
	}
	repo, head, err := git.OpenHead(ctx, team.Workspace)
	if err != nil {
		return nil, "", err
	}
	commit := head.Commit
	if commit == "" || team.Worktree.Base != "" {
		if commit, err = baseOf(ctx, repo, team); err != nil {
			return nil, "", err
		}
	}
	tracked, err := repo.Tracked(ctx, commit, repo.Prefix)
	switch {
	case err != nil:
		return nil, "", err
	case !tracked:
		return nil, "", fmt.Errorf("%s has no files in commit %.10s of its repository %s; commit some",
			team.Workspace, commit, repo.Top)
	}
	return repo, commit, repo.NeedFilters(ctx)
}

// rootIn returns the workspace's path in another working copy.
func (g ground) rootIn(top string) string {
	return filepath.Join(top, filepath.FromSlash(g.repo.Prefix))
}

// target returns the commit that contains finished work: that of the branch into, or
// the workspace's commit if into is empty.
func (g ground) target(ctx context.Context, into string) (string, error) {
	if into != "" {
		if commit, err := g.repo.Commit(ctx, "refs/heads/"+into); !errors.Is(err, worktree.ErrNoRef) {
			return commit, err
		}
	}
	return g.repo.Commit(ctx, "HEAD")
}

// baseOf returns the commit that new working copies start from. It moves with its
// branch.
func baseOf(ctx context.Context, repo *worktree.Repo, team *configs.Team) (string, error) {
	base := cmp.Or(team.Worktree.Base, "HEAD")
	commit, err := repo.Commit(ctx, base)
	switch {
	case err != nil && base == "HEAD":
		return "", fmt.Errorf("the repository of %s has %w; create a first one", team.Workspace, worktree.ErrNoCommit)
	case err != nil:
		return "", fmt.Errorf("worktree.base: %w", err)
	}
	return commit, nil
}

// inRepository reports whether a folder looks like part of a repository.
func inRepository(dir string) bool {
	if real, err := state.RealPath(dir); err == nil {
		dir = real
	}
	return worktree.InRepository(dir)
}

// isolationOf returns where a member works: as its spec says, or in its own working
// copy if it is one of several that can write and copies are possible. A team works where
// its own spec is, which is what the operator has trusted, and makes copies for its members.
func isolationOf(m configs.Member, team *configs.Team, able bool) configs.Isolation {
	if m.Isolation != "" {
		return m.Isolation
	}
	if able && m.CanWrite() && !m.Agent.IsTeam() && severalWrite(team) {
		return configs.InWorktree
	}
	return configs.Shared
}

// severalWrite reports whether two or more members of a team can write, now or once the lead has
// added some. It is asked for each member, so it copies no list of members and stops at the second.
func severalWrite(team *configs.Team) bool {
	first := false
	for m := range team.EachAndTemplates() {
		if first && m.CanWrite() {
			return true
		}
		first = first || m.CanWrite()
	}
	return slices.ContainsFunc(team.Templates, func(t configs.Template) bool { return t.Max > 1 && t.CanWrite() })
}
