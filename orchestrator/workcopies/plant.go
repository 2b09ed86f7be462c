package workcopies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// plant creates a member's working copy, or adopts its existing one.
//
// An existing copy comes first, whoever made it, because it may have work. Only one that
// was never set up, and whose base has moved since, is made anew. A hook comes before git,
// since it replaces git's way of making copies.
func (t *Trees) plant(ctx context.Context, m *members.Member) (Tree, error) {
	name := m.Name
	was, had := t.record.all()[name]
	if had && was.ByHook && IsFolder(was.Root) {
		return was, nil
	}
	path := filepath.Join(t.dir, name)
	if t.ground.repo != nil {
		own, found, err := t.adopt(ctx, name, path)
		if err != nil {
			return own, err
		}
		if found && !was.Ready {
			_ = os.Remove(filepath.Join(own.Top, partFile)) // if it stays, people see it as a change
		}
		if found && had && !t.deps.MakeNone && t.ground.outdated(ctx, t.deps.Team(), was) {
			found = t.removeClean(ctx, name, own) != ""
		}
		if found {
			own.Base, own.Ready = was.Base, was.Ready
			return own, nil
		}
	}
	if MadeByHook(t.deps.Hooks.Sources()) {
		own, made, err := t.byHook(ctx, m)
		if err != nil || made {
			return own, err
		}
	}
	if t.ground.repo == nil {
		return Tree{}, t.ground.fault
	}
	return t.byGit(ctx, m, path)
}

// byGit creates a working copy on a branch of the member.
func (t *Trees) byGit(ctx context.Context, m *members.Member, path string) (Tree, error) {
	if err := t.room(ctx); err != nil {
		return Tree{}, err
	}
	branch, base, err := t.branchFor(ctx, m.Name)
	if err != nil {
		return Tree{}, fmt.Errorf("find a branch for it: %w", err)
	}
	if err := t.base.Add(ctx, worktree.New{Path: path, Branch: branch, Commit: base}); err != nil {
		return Tree{}, err
	}
	if err := t.record.claim(ctx, branch); err != nil {
		return Tree{}, err
	}
	own := Tree{Top: path, Root: t.ground.rootIn(path), Branch: branch, Base: base}
	e := events.WorktreeChanged{Op: "created", Path: path, Branch: branch, Base: base}
	if base == "" { // its own branch, from an earlier run whose copy is gone
		e.Reason = "the branch existed and has unmerged work"
		t.notices.warn("branch %s existed already and has unmerged work: %s continues on it", branch, m.Name)
	}
	t.notices.tell(m.Name, e)
	return own, os.MkdirAll(own.Root, 0o755) // the branch may have no files there
}

// outdated reports whether a copy was never set up and its base has moved since. Nobody has
// worked in it, and what made its setup fail may have been mended in the base.
func (g ground) outdated(ctx context.Context, team *configs.Team, own Tree) bool {
	if own.Ready || own.Base == "" {
		return false
	}
	base, err := baseOf(ctx, g.repo, team)
	return err == nil && base != own.Base
}

// adopt adopts the working copy at path, if there is one: a restarted team continues in
// it, and so does one that was killed before it recorded the copy. Anything else at
// path is moved away, never deleted.
func (t *Trees) adopt(ctx context.Context, member, path string) (own Tree, found bool, err error) {
	if !IsFolder(path) {
		return Tree{}, false, nil
	}
	own = t.record.all()[member] // discover has seen to it that there is one, if path is a copy
	copy, head, err := t.base.Open(ctx, path, own.Branch)
	if errors.Is(err, worktree.ErrNoRepo) {
		aside := fmt.Sprintf("%s.lost-%s", path, time.Now().UTC().Format("20060102T150405.000"))
		if err := os.Rename(path, aside); err != nil {
			return Tree{}, false, fmt.Errorf("move %s away, which is no longer a working copy: %w", path, err)
		}
		t.notices.warn("%s was no longer a working copy of %s; its content is now in %s, and %s gets a new copy",
			path, t.ground.repo.Common, aside, member)
		return Tree{}, false, nil
	}
	if err != nil {
		return Tree{}, false, err
	}
	if _, err = copy.Publish(ctx, head); err == nil {
		err = t.base.Show(ctx, path, own.Branch)
	}
	if err != nil && ctx.Err() == nil {
		t.notices.warn("what %s has committed in %s cannot be fetched: %v", member, path, err)
	}
	own = Tree{Top: path, Root: t.ground.rootIn(path), Branch: own.Branch}
	return own, true, os.MkdirAll(own.Root, 0o755)
}

// branchFor returns the branch for a member's new working copy, and the commit to
// create it from; empty if the branch exists and has unmerged work, which the member
// continues. Only branches that this team created are continued or recreated. Any other
// belongs to a person, or to a team of the same name in another folder or clone: it
// stays as it is, and another name is used. So does one that a working copy of the operator has
// checked out.
func (t *Trees) branchFor(ctx context.Context, member string) (branch, base string, err error) {
	from, err := baseOf(ctx, t.ground.repo, t.deps.Team())
	if err != nil {
		return "", "", err
	}
	there, err := t.ground.repo.Branches(ctx, "covey")
	if err != nil {
		return "", "", fmt.Errorf("list branches: %w", err)
	}
	copies, err := t.ground.repo.Copies(ctx)
	if err != nil {
		return "", "", fmt.Errorf("list working copies: %w", err)
	}
	names, foreign := t.branchNames(member), ""
	for _, name := range names {
		if slices.ContainsFunc(copies, func(c worktree.Copy) bool { return c.Branch == name }) {
			continue
		}
		commit, exists := there[name]
		way := worktree.Blocking(there, name)
		if exists && !t.record.made(name) {
			way = name
		}
		if way != "" {
			foreign = cmp.Or(foreign, way)
			continue
		}
		if foreign != "" {
			t.notices.warn("branch %s of %s was not created by this team; it stays as it is, and %s works on %s",
				foreign, t.ground.repo.Top, member, name)
		}
		if !exists {
			return name, from, nil
		}
		base, err := t.ground.renew(ctx, name, worktree.Step{From: commit, To: from})
		return name, base, err
	}
	if foreign != "" {
		return "", "", fmt.Errorf("no branch for its work can be created in %s: %s is in the way; "+
			"`git branch -m %[2]s NAME` renames that one", t.ground.repo.Top, foreign)
	}
	return "", "", fmt.Errorf("%w: the branches %s to %s; delete those that you do not need",
		worktree.ErrTaken, names[0], names[len(names)-1])
}

// renew deletes a branch of the team at step.From if step.To contains all of it, and
// returns step.To to recreate it from; else empty: its work is continued.
func (g ground) renew(ctx context.Context, name string, step worktree.Step) (base string, err error) {
	merged, err := g.repo.Holds(ctx, step.To, step.From)
	if err != nil || !merged {
		return "", err
	}
	end := worktree.Step{From: step.From, Why: "covey: merged into the base; recreated"}
	if err := g.repo.Move(ctx, "refs/heads/"+name, end); err != nil && !errors.Is(err, worktree.ErrMoved) {
		return "", err
	}
	return step.To, nil
}

// IsFolder reports whether a folder exists.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
