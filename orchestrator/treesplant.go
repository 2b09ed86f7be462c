package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// plant makes a member's working copy, or takes up the one that it has.
func (t *trees) plant(ctx context.Context, s *seat) (ownTree, error) {
	name := s.member.Name
	was, had := t.known()[name]
	if had && was.ByHook && isFolder(was.Root) {
		return was, nil
	}
	path := filepath.Join(t.dir, name)
	if t.repo != nil {
		own, found, err := t.adopt(ctx, s, path)
		if err != nil || found {
			own.Base, own.Ready = was.Base, was.Ready
			return own, err
		}
	}
	if makesTrees(t.c.live.now().layers) {
		own, made, err := t.byHook(ctx, s)
		if err != nil || made {
			return own, err
		}
	}
	if t.repo == nil {
		return ownTree{}, t.fault
	}
	return t.byGit(ctx, s, path)
}

// byGit makes a working copy on a branch of the member's.
func (t *trees) byGit(ctx context.Context, s *seat, path string) (ownTree, error) {
	if err := t.room(ctx); err != nil {
		return ownTree{}, err
	}
	branch, base, err := t.branchFor(ctx, s.member.Name)
	if err != nil {
		return ownTree{}, fmt.Errorf("find a branch for it: %w", err)
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return ownTree{}, fmt.Errorf("state folder: %w", err)
	}
	if err := t.repo.Copies.Add(ctx, worktree.New{Path: path, Branch: branch, Base: base}); err != nil {
		return ownTree{}, err
	}
	if err := t.claim(ctx, branch); err != nil {
		return ownTree{}, err
	}
	own := ownTree{Top: path, Root: t.rootIn(path), Branch: branch, Base: base}
	e := WorktreeChanged{Op: "created", Path: path, Branch: branch, Base: base}
	if base == "" { // its own, from an earlier run whose copy is gone
		e.Reason = "the branch was there and holds work that is not merged"
		t.warn("branch %s was there already and holds work that is not merged: %s goes on from it", branch, s.member.Name)
	}
	t.tell(s.member.Name, e)
	return own, os.MkdirAll(own.Root, 0o755) // the branch need not have files there
}

// rootIn is the workspace's place in another working copy.
func (t *trees) rootIn(top string) string {
	return filepath.Join(top, filepath.FromSlash(t.repo.Prefix))
}

// adopt takes up the working copy that lies at path, if one does: a team that is
// started again goes on in it, and so does one that was killed before it could note
// it down. What lies there and is none is put aside, never deleted.
func (t *trees) adopt(ctx context.Context, s *seat, path string) (ownTree, bool, error) {
	known, there, err := t.copyAt(ctx, path)
	if err != nil {
		return ownTree{}, false, err
	}
	if there && known.Begun {
		return ownTree{}, false, t.repo.Copies.Discard(ctx, path)
	}
	folder := isFolder(path)
	if folder && (!there || known.Gone != "") {
		// The repository has been moved, or somebody had git forget the copy.
		if t.repo.Copies.Repair(ctx, path) == nil {
			if known, there, err = t.copyAt(ctx, path); err != nil {
				return ownTree{}, false, err
			}
		}
	}
	if folder && there && known.Gone == "" {
		own := ownTree{Top: path, Root: t.rootIn(path), Branch: known.Branch}
		return own, true, os.MkdirAll(own.Root, 0o755)
	}
	if folder {
		aside := fmt.Sprintf("%s.lost-%s", path, time.Now().UTC().Format("20060102T150405.000"))
		if err := os.Rename(path, aside); err != nil {
			return ownTree{}, false, fmt.Errorf("put %s aside, which is no working copy any more: %w", path, err)
		}
		t.warn("%s was no working copy of %s any more; what lay in it is in %s, and %s gets a new one",
			path, t.repo.Common, aside, s.member.Name)
	}
	if there {
		return ownTree{}, false, t.repo.Copies.Remove(ctx, path) // its folder is gone: git forgets it
	}
	return ownTree{}, false, nil
}

// copyAt is what git knows of a working copy at path.
func (t *trees) copyAt(ctx context.Context, path string) (worktree.Copy, bool, error) {
	all, err := t.repo.Copies.List(ctx)
	i := slices.IndexFunc(all, func(c worktree.Copy) bool { return c.Path == path })
	if err != nil || i < 0 {
		return worktree.Copy{}, false, err
	}
	return all[i], true, nil
}

// branchFor is the branch for a member's new working copy, and the commit that it is
// to begin from; none if the branch is there and holds work that is not merged,
// which the member goes on with. Only a branch that this team has made is gone on with
// or begun anew. Any other is somebody's: a person's, or that of a team of the same name
// in another folder or copy of the repository. It stays as it is, and we take another.
func (t *trees) branchFor(ctx context.Context, member string) (branch, base string, err error) {
	from, err := baseOf(ctx, t.repo, t.o.team())
	if err != nil {
		return "", "", err
	}
	there, err := t.repo.Branches(ctx, "covey")
	if err != nil {
		return "", "", fmt.Errorf("list branches: %w", err)
	}
	copies, err := t.repo.Copies.List(ctx)
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
		if exists && !t.made(name) {
			way = name
		}
		if way != "" {
			foreign = cmp.Or(foreign, way)
			continue
		}
		if foreign != "" {
			t.warn("branch %s of %s is not one that this team has made; it stays as it is, and %s works on %s",
				foreign, t.repo.Top, member, name)
		}
		if !exists {
			return name, from, nil
		}
		base, err := t.renew(ctx, name, worktree.Step{From: commit, To: from})
		return name, base, err
	}
	if foreign != "" {
		return "", "", fmt.Errorf("no branch for its work can be made in %s: %s is in the way; "+
			"`git branch -m %[2]s NAME` gives that another name", t.repo.Top, foreign)
	}
	return "", "", fmt.Errorf("%w: the branches %s to %s; delete those that you do not need",
		worktree.ErrTaken, names[0], names[len(names)-1])
}

// branchNames are the names that a member's branch may have, the first one first.
func (t *trees) branchNames(member string) []string {
	here := filepath.Base(t.o.place.Dir) // the team's name and eight digits that no other team has
	names := []string{worktree.BranchName(t.o.team().Name, member), worktree.BranchName(here, member)}
	for i := 2; i < 10; i++ {
		names = append(names, fmt.Sprintf("%s-%d", worktree.BranchName(here, member), i))
	}
	return names
}

// renew removes a branch of the team's at step.From if step.To has all of it, and gives
// back step.To for it to begin from; else nothing: its work is gone on with.
func (t *trees) renew(ctx context.Context, name string, step worktree.Step) (base string, err error) {
	merged, err := t.repo.Holds(ctx, step.To, step.From)
	if err != nil || !merged {
		return "", err
	}
	end := worktree.Step{From: step.From, Why: "covey: all of it is in the base; it begins anew"}
	if err := t.repo.Move(ctx, "refs/heads/"+name, end); err != nil && !errors.Is(err, worktree.ErrMoved) {
		return "", err
	}
	return step.To, nil
}

// isFolder reports whether a folder is there.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
