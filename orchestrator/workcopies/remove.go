package workcopies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Legacy is what a team that does not run has in its repository. Remove removes Copies and
// Branches, with which no work is lost.
type Legacy struct {
	Copies   []string `json:"copies,omitempty"`   // top folders of working copies in which all is committed
	Branches []string `json:"branches,omitempty"` // branches that the team made and that are merged
	Kept     []Kept   `json:"kept,omitempty"`     // what stays

	place   state.Place
	dir     string            // that of place; without symlinks
	repo    *worktree.Repo    // nil: the team has nothing in it
	commits map[string]string // of all branches, by short name
	own     map[string]string // branches with the team's work, and the commit that it left there; empty: any
	targets map[string]bool   // branches that contain finished work
}

// Kept is what stays when its team is removed.
type Kept struct {
	Name string `json:"name"` // of a branch, or the path of a folder
	Why  string `json:"why"`
	Show string `json:"show,omitempty"` // a command that shows the work
}

// LegacyOf looks at what a team that does not run has in its repository. It fails if removing the
// team could lose work that is on no branch.
func LegacyOf(ctx context.Context, git worktree.Git, p state.Place) (Legacy, error) {
	l := Legacy{place: p, own: map[string]string{}, targets: map[string]bool{}}
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		return l, state.FolderError(err)
	}
	l.dir = dir
	if err := l.recall(ctx); err != nil {
		return l, err
	}
	found, err := os.ReadDir(p.Worktrees())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, state.FolderError(err)
	}
	if len(found)+len(l.own) == 0 {
		return l, nil
	}
	var head worktree.Head
	err = fmt.Errorf("its folder is not known: %w", fs.ErrNotExist)
	if p.Workspace != "" {
		l.repo, head, err = git.OpenHead(ctx, p.Workspace)
	}
	switch gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, worktree.ErrNoRepo); {
	case gone && len(found) == 0:
		return l, nil
	case err != nil:
		return l, fmt.Errorf("what is in %s cannot be compared with its repository: %w", p.Worktrees(), err)
	}
	if l.commits, err = l.repo.Branches(ctx, ""); err != nil {
		return l, fmt.Errorf("list branches: %w", err)
	}
	l.targets[head.Branch] = true // not a detached head: the next checkout loses what it contains
	maps.DeleteFunc(l.targets, func(name string, _ bool) bool { return l.commits[name] == "" })
	maps.DeleteFunc(l.own, func(name, _ string) bool { return l.commits[name] == "" })
	busy, err := l.lookAtCopies(ctx, found)
	if err != nil {
		return l, err
	}
	return l, l.lookAtBranches(ctx, busy)
}

// recall reads from the store what the team made and where its work was merged.
func (l *Legacy) recall(ctx context.Context) error {
	store, err := l.place.OpenStore()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	left := ReadRemains(ctx, store)
	for _, name := range left.branches {
		l.own[name] = ""
	}
	for _, member := range slices.Sorted(maps.Keys(left.trees)) {
		own := left.trees[member]
		if !own.ByHook || !IsFolder(own.Top) {
			continue
		}
		if rel, err := filepath.Rel(l.dir, own.Top); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("a hook made %s for %s; remove it if nothing in it is needed", own.Top, member)
		}
		l.Kept = append(l.Kept, Kept{Name: own.Top, Why: "a hook made it for " + member})
	}
	merges, err := store.Merges().List(ctx)
	for _, m := range merges {
		l.own[m.Branch], l.targets[m.Into] = m.Commit, true
	}
	return err
}

// lookAtCopies looks at the working copies; found is what is in their folder. It returns the
// branches that must not be removed.
func (l *Legacy) lookAtCopies(ctx context.Context, found []fs.DirEntry) (busy map[string]bool, err error) {
	dir := filepath.Join(l.dir, filepath.Base(l.place.Worktrees()))
	copies, err := l.repo.Copies(ctx)
	if err != nil {
		return nil, fmt.Errorf("list working copies: %w", err)
	}
	busy = map[string]bool{}
	var stay []error
	for _, c := range copies {
		if filepath.Dir(c.Path) != dir {
			busy[c.Branch] = true
			continue
		}
		found = slices.DeleteFunc(found, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(c.Path) })
		if err := l.lookAtCopy(ctx, c); err != nil {
			stay = append(stay, err)
		}
		l.Copies = append(l.Copies, c.Path)
		if _, own := l.own[c.Branch]; !own && c.Branch != "" { // the team has not made it
			l.own[c.Branch], busy[c.Branch] = "", true
		}
	}
	for _, e := range found {
		stay = append(stay, fmt.Errorf("%s is not a working copy of %s; remove it if nothing in it is needed",
			filepath.Join(dir, e.Name()), l.repo.Top))
	}
	return busy, errors.Join(stay...)
}

// lookAtCopy fails if removing a working copy could lose work that is on no branch.
func (l *Legacy) lookAtCopy(ctx context.Context, c worktree.Copy) error {
	if c.Begun || !IsFolder(c.Path) { // nobody has worked in it, or only git's record is left
		return nil
	}
	own, err := l.repo.At(ctx, c.Path)
	if err != nil {
		return err
	}
	open, head, err := uncommitted(ctx, own)
	if err != nil {
		return fmt.Errorf("the working copy %s: %w", c.Path, err)
	}
	why := open.String()
	if _, err := os.Stat(filepath.Join(own.GitDir, "modules")); err == nil {
		why = "submodules"
	}
	if c.Locked {
		why = "a lock of git"
	}
	if head.Branch == "" && why == "" {
		merged, err := l.merged(ctx, head.Commit)
		if err != nil {
			return err
		}
		if !merged {
			why = "commits that are on no branch"
		}
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("the working copy %s has %s; save that, or discard it with `git -C %s worktree remove --force --force %[1]s`",
		c.Path, why, l.repo.Top)
}

// lookAtBranches decides which branches go.
func (l *Legacy) lookAtBranches(ctx context.Context, busy map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(l.own)) {
		merged, err := l.merged(ctx, l.commits[name])
		switch left, made := l.own[name], strings.HasPrefix(name, "covey/"); {
		case err != nil:
			return err
		case !merged:
			others := strings.Join(slices.Sorted(maps.Keys(l.targets)), " ")
			l.Kept = append(l.Kept, Kept{
				Name: name, Why: "it is not merged", Show: fmt.Sprintf("git -C %s log %s --not %s", l.repo.Top, name, others),
			})
		case made && !busy[name] && !l.targets[name] && (left == "" || left == l.commits[name]):
			l.Branches = append(l.Branches, name)
		}
	}
	return nil
}

// merged reports whether a branch with finished work contains all of a commit.
func (l *Legacy) merged(ctx context.Context, commit string) (bool, error) {
	for name := range l.targets {
		if count, err := unmergedCommits(ctx, l.repo, l.commits[name], commit); err != nil || count == 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// Remove removes the working copies and branches. The team's lock must be held.
//
// The folder of a copy is moved away first, in one step: what a kill would leave of it could not be
// told from work.
func (l *Legacy) Remove(ctx context.Context) error {
	if l.repo == nil {
		return nil
	}
	repo, err := l.repo.Operation(ctx)
	if err != nil {
		return err
	}
	if err := repo.Unlock(nil, "covey/"+l.place.Team); err != nil {
		return err
	}
	for _, top := range l.Copies {
		aside, err := os.MkdirTemp(l.place.Dir, "removed-*")
		if err == nil {
			err = os.Rename(top, filepath.Join(aside, filepath.Base(top)))
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = repo.DiscardCopy(ctx, top)
		}
		if err != nil {
			return fmt.Errorf("remove the working copy %s: %w", top, err)
		}
	}
	for _, name := range l.Branches {
		end := worktree.Step{From: l.commits[name], Why: "covey: its team was removed"}
		if err := repo.Move(ctx, "refs/heads/"+name, end); err != nil {
			return fmt.Errorf("remove the branch %s: %w", name, err)
		}
	}
	return nil
}
