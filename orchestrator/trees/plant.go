package trees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// plant makes a member's working copy, or takes up the one that it has.
func (t *Trees) plant(ctx context.Context, m *roster.Member) (Tree, error) {
	name := m.Name
	was, had := t.record.all()[name]
	if had && was.ByHook && IsFolder(was.Root) {
		return was, nil
	}
	path := filepath.Join(t.dir, name)
	if t.ground.repo != nil {
		own, found, err := t.adopt(ctx, m, path)
		if err != nil || found {
			own.Base, own.Ready = was.Base, was.Ready
			return own, err
		}
	}
	if makesTrees(t.opts.Hooks.Sources()) {
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

// byGit makes a working copy on a branch of the member's.
func (t *Trees) byGit(ctx context.Context, m *roster.Member, path string) (Tree, error) {
	if err := t.room(ctx); err != nil {
		return Tree{}, err
	}
	branch, base, err := t.branchFor(ctx, m.Name)
	if err != nil {
		return Tree{}, fmt.Errorf("find a branch for it: %w", err)
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return Tree{}, fmt.Errorf("state folder: %w", err)
	}
	if err := t.ground.repo.Copies.Add(ctx, worktree.New{Path: path, Branch: branch, Base: base}); err != nil {
		return Tree{}, err
	}
	if err := t.branches.claim(ctx, branch); err != nil {
		return Tree{}, err
	}
	own := Tree{Top: path, Root: t.ground.rootIn(path), Branch: branch, Base: base}
	e := Changed{Op: "created", Path: path, Branch: branch, Base: base}
	if base == "" { // its own, from an earlier run whose copy is gone
		e.Reason = "the branch was there and holds work that is not merged"
		t.notices.warn("branch %s was there already and holds work that is not merged: %s goes on from it", branch, m.Name)
	}
	t.notices.tell(m.Name, e)
	return own, os.MkdirAll(own.Root, 0o755) // the branch need not have files there
}

// adopt takes up the working copy that lies at path, if one does: a team that is
// started again goes on in it, and so does one that was killed before it could note
// it down. What lies there and is none is put aside, never deleted.
func (t *Trees) adopt(ctx context.Context, m *roster.Member, path string) (Tree, bool, error) {
	known, there, err := t.ground.copyAt(ctx, path)
	if err != nil {
		return Tree{}, false, err
	}
	if there && known.Begun {
		return Tree{}, false, t.ground.repo.Copies.Discard(ctx, path)
	}
	folder := IsFolder(path)
	if folder && (!there || known.Gone != "") {
		// The repository has been moved, or somebody had git forget the copy.
		if t.ground.repo.Copies.Repair(ctx, path) == nil {
			if known, there, err = t.ground.copyAt(ctx, path); err != nil {
				return Tree{}, false, err
			}
		}
	}
	if folder && there && known.Gone == "" {
		own := Tree{Top: path, Root: t.ground.rootIn(path), Branch: known.Branch}
		return own, true, os.MkdirAll(own.Root, 0o755)
	}
	if folder {
		aside := fmt.Sprintf("%s.lost-%s", path, time.Now().UTC().Format("20060102T150405.000"))
		if err := os.Rename(path, aside); err != nil {
			return Tree{}, false, fmt.Errorf("put %s aside, which is no working copy any more: %w", path, err)
		}
		t.notices.warn("%s was no working copy of %s any more; what lay in it is in %s, and %s gets a new one",
			path, t.ground.repo.Common, aside, m.Name)
	}
	if there {
		return Tree{}, false, t.ground.repo.Copies.Remove(ctx, path) // its folder is gone: git forgets it
	}
	return Tree{}, false, nil
}

// branchFor is the branch for a member's new working copy, and the commit that it is
// to begin from; none if the branch is there and holds work that is not merged,
// which the member goes on with. Only a branch that this team has made is gone on with
// or begun anew. Any other is somebody's: a person's, or that of a team of the same name
// in another folder or copy of the repository. It stays as it is, and we take another.
func (t *Trees) branchFor(ctx context.Context, member string) (branch, base string, err error) {
	from, err := baseOf(ctx, t.ground.repo, t.opts.Team())
	if err != nil {
		return "", "", err
	}
	there, err := t.ground.repo.Branches(ctx, "covey")
	if err != nil {
		return "", "", fmt.Errorf("list branches: %w", err)
	}
	copies, err := t.ground.repo.Copies.List(ctx)
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
		if exists && !t.branches.made(name) {
			way = name
		}
		if way != "" {
			foreign = cmp.Or(foreign, way)
			continue
		}
		if foreign != "" {
			t.notices.warn("branch %s of %s is not one that this team has made; it stays as it is, and %s works on %s",
				foreign, t.ground.repo.Top, member, name)
		}
		if !exists {
			return name, from, nil
		}
		base, err := t.ground.renew(ctx, name, worktree.Step{From: commit, To: from})
		return name, base, err
	}
	if foreign != "" {
		return "", "", fmt.Errorf("no branch for its work can be made in %s: %s is in the way; "+
			"`git branch -m %[2]s NAME` gives that another name", t.ground.repo.Top, foreign)
	}
	return "", "", fmt.Errorf("%w: the branches %s to %s; delete those that you do not need",
		worktree.ErrTaken, names[0], names[len(names)-1])
}

// renew removes a branch of the team's at step.From if step.To has all of it, and gives
// back step.To for it to begin from; else nothing: its work is gone on with.
func (g ground) renew(ctx context.Context, name string, step worktree.Step) (base string, err error) {
	merged, err := g.repo.Holds(ctx, step.To, step.From)
	if err != nil || !merged {
		return "", err
	}
	end := worktree.Step{From: step.From, Why: "covey: all of it is in the base; it begins anew"}
	if err := g.repo.Move(ctx, "refs/heads/"+name, end); err != nil && !errors.Is(err, worktree.ErrMoved) {
		return "", err
	}
	return step.To, nil
}

// IsFolder reports whether a folder is there.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
