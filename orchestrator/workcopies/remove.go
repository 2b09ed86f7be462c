package workcopies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Legacy is what a team that does not run has in its repository. Remove removes Copies and
// Branches, with which no work is lost.
type Legacy struct {
	Copies   []string `json:"copies,omitempty"`   // top folders of working copies in which all is committed
	Branches []string `json:"branches,omitempty"` // branches that the team made and that are merged
	Pushed   []string `json:"pushed,omitempty"`   // references to its merged work that the remote has
	Kept     []Kept   `json:"kept,omitempty"`     // what stays

	place   state.Place
	dir     string            // that of place; without symlinks
	repo    *worktree.Repo    // nil: the team has nothing in it
	base    *worktree.Base    // of repo
	trees   map[string]Tree   // as the store knows them
	commits map[string]string // of all branches, by short name
	own     map[string]string // branches with the team's work, and the commit that it left there; empty: any
	targets map[string]bool   // branches that contain finished work
	remote  *worktree.Remote
	pushed  map[string]string // commits of Pushed
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
	if len(found)+len(l.own) == 0 && !IsFolder(filepath.Join(dir, "base.git")) {
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
	worktrees := filepath.Join(dir, filepath.Base(p.Worktrees()))
	if err := refuseLinked(ctx, l.repo, worktrees); err != nil {
		return l, err
	}
	l.base = baseIn(dir, l.repo)
	copies, err := l.openCopies(ctx, worktrees, found)
	if err != nil {
		return l, err
	}
	if l.commits, err = l.repo.Branches(ctx, ""); err != nil {
		return l, fmt.Errorf("list branches: %w", err)
	}
	l.targets[head.Branch] = true // not a detached head: the next checkout loses what it contains
	maps.DeleteFunc(l.targets, func(name string, _ bool) bool { return l.commits[name] == "" })
	maps.DeleteFunc(l.own, func(name, _ string) bool { return l.commits[name] == "" })
	if err := l.lookAtCopies(ctx, copies); err != nil {
		return l, err
	}
	return l, l.lookAtBranches(ctx)
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
	l.trees = left.trees
	for _, name := range left.branches {
		l.own[name] = ""
	}
	for _, member := range slices.Sorted(maps.Keys(left.trees)) {
		own := left.trees[member]
		if !own.ByHook || !IsFolder(own.Top) {
			continue
		}
		if texts.Within(l.dir, own.Top) {
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

// openCopies opens the working copies in folder dir, in which found lies, and fetches what they have
// checked out, so that their branches have it.
func (l *Legacy) openCopies(ctx context.Context, dir string, found []fs.DirEntry) (copies []openCopy, err error) {
	names, err := clones(dir)
	if err != nil {
		return nil, err
	}
	var stay []error
	for _, e := range found {
		if !slices.Contains(names, e.Name()) && !worktree.IsUnfinished(e.Name()) {
			stay = append(stay, fmt.Errorf("%s is not a working copy of %s; remove it if nothing in it is needed",
				filepath.Join(dir, e.Name()), l.repo.Top))
		}
	}
	for _, member := range names {
		branch := cmp.Or(l.trees[member].Branch, worktree.BranchName(l.place.Team, member))
		copy, head, err := l.base.Open(ctx, filepath.Join(dir, member), branch)
		if err == nil {
			_, err = copy.Publish(ctx, head)
		}
		if err != nil {
			stay = append(stay, fmt.Errorf("the working copy of %s: %w", member, err))
		}
		copies = append(copies, openCopy{copy, head, branch})
	}
	return copies, errors.Join(stay...)
}

// openCopy is a working copy, what it has checked out, and the branch by which people see that.
type openCopy struct {
	*worktree.Repo
	head   worktree.Head
	branch string
}

// lookAtCopies fails if removing the working copies could lose work that is on no branch.
func (l *Legacy) lookAtCopies(ctx context.Context, copies []openCopy) error {
	var stay []error
	for _, c := range copies {
		open, _, err := uncommitted(ctx, c.Repo)
		if err != nil {
			stay = append(stay, fmt.Errorf("the working copy %s: %w", c.Top, err))
			continue
		}
		why := open.String()
		if _, err := os.Stat(filepath.Join(c.GitDir, "modules")); err == nil {
			why = "submodules"
		}
		if why == "" && l.commits[c.branch] != c.head.Commit {
			merged, err := l.merged(ctx, c.head.Commit)
			if err != nil {
				return err
			}
			if !merged {
				why = "commits that are on no branch"
			}
		}
		if why != "" {
			stay = append(stay, fmt.Errorf("the working copy %s has %s; save that, or delete the folder", c.Top, why))
		}
		l.Copies = append(l.Copies, c.Top)
		if _, own := l.own[c.branch]; !own { // the store is lost
			l.own[c.branch] = c.head.Commit
		}
	}
	return errors.Join(stay...)
}

// lookAtBranches decides which branches go.
func (l *Legacy) lookAtBranches(ctx context.Context) error {
	copies, err := l.repo.Copies(ctx)
	if err != nil {
		return fmt.Errorf("list working copies: %w", err)
	}
	busy := map[string]bool{} // which the operator has checked out
	for _, c := range copies {
		busy[c.Branch] = true
	}
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

// LookElsewhere looks at the finished work that the team has pushed. What the remote does not say stays.
func (l *Legacy) LookElsewhere(ctx context.Context) error {
	if l.repo == nil {
		return nil
	}
	refs := "refs/covey/" + l.place.Team + "/"
	var err error
	if l.remote, err = l.base.Remote(ctx); err == nil {
		if l.pushed, err = l.remote.Refs(ctx, refs); err == nil && len(l.pushed) > 0 {
			err = l.remote.Fetch(ctx, refs, refs)
		}
	}
	if err != nil {
		l.pushed = nil
		l.Kept = append(l.Kept, Kept{Name: refs + " of the remote", Why: "it cannot be asked: " + texts.Preview(err.Error(), 200),
			Show: fmt.Sprintf("git -C %s ls-remote origin '%s*'", l.repo.Top, refs)})
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(l.pushed)) {
		merged, err := l.merged(ctx, l.pushed[name])
		switch {
		case err != nil:
			return err
		case merged:
			l.Pushed = append(l.Pushed, name)
		default:
			l.Kept = append(l.Kept, Kept{Name: name + " of " + l.remote.String(), Why: "it is not merged",
				Show: fmt.Sprintf("git -C %s log %s --not %s", l.repo.Top, name, strings.Join(slices.Sorted(maps.Keys(l.targets)), " "))})
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
func (l *Legacy) Remove(ctx context.Context) error {
	if l.repo == nil {
		return nil
	}
	if err := l.base.Unlock(nil, "covey/"+l.place.Team); err != nil {
		return err
	}
	for _, top := range l.Copies {
		if err := l.base.Discard(ctx, top); err != nil {
			return err
		}
	}
	for _, name := range l.Pushed {
		gone := worktree.Step{From: l.pushed[name], Why: "covey: its team was removed"}
		if err := l.remote.Push(ctx, name, gone); err != nil {
			return fmt.Errorf("remove %s of %s: %w", name, l.remote, err)
		}
		if err := l.repo.Move(ctx, name, gone); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	if err := l.base.Drop(ctx); err != nil {
		return err
	}
	for _, name := range l.Branches {
		end := worktree.Step{From: l.commits[name], Why: "covey: its team was removed"}
		if err := l.repo.Move(ctx, "refs/heads/"+name, end); err != nil {
			return fmt.Errorf("remove the branch %s: %w", name, err)
		}
	}
	return nil
}
