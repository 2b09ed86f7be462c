package trees

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// rescues is where commits are kept of what was in a working copy that was removed.
const rescues = "refs/covey/rescue/"

// unmerged is the work in a working copy that would be missed.
type unmerged struct {
	Changed int      // files that differ from the copy's last commit, new ones included
	Commits int      // commits that the branch for finished work has not
	Beyond  []string // repositories of their own, which no commit of this one can hold
	// Withheld are changed or new files with a git filter that covey must not run.
	Withheld []string
}

// none reports whether nothing would be missed.
func (u unmerged) none() bool {
	return u.Changed == 0 && u.Commits == 0 && len(u.Beyond)+len(u.Withheld) == 0
}

// String says what there is, for people.
func (u unmerged) String() string {
	var parts []string
	if u.Changed > 0 {
		parts = append(parts, fmt.Sprintf("%d files that are not committed", u.Changed))
	}
	if u.Commits > 0 {
		parts = append(parts, fmt.Sprintf("%d commits that are not merged", u.Commits))
	}
	if len(u.Beyond) > 0 {
		parts = append(parts, "repositories of their own: "+listed(u.Beyond, 3))
	}
	if len(u.Withheld) > 0 {
		parts = append(parts, "files with a filter that covey must not run: "+listed(u.Withheld, 3))
	}
	return strings.Join(parts, ", ")
}

// openWork finds out what of a working copy would be missed, where finished work is in the
// commit target.
func openWork(ctx context.Context, own *worktree.Repo, target string) (unmerged, error) {
	var u unmerged
	state, err := own.State(ctx, "")
	if err != nil {
		return u, fmt.Errorf("see what is in it: %w", err)
	}
	changed, err := own.Changed(ctx, "HEAD", state.Tree)
	if err != nil {
		return u, fmt.Errorf("compare it with its last commit: %w", err)
	}
	u.Changed, u.Beyond, u.Withheld = len(changed), state.Beyond, state.Withheld
	head, err := own.Commit(ctx, "HEAD")
	if err != nil {
		return u, err
	}
	if u.Commits, err = own.Ahead(ctx, target, head); err != nil || u.Commits == 0 {
		return u, err
	}
	// What was merged as one commit, as pull requests often are, is merged too.
	merge, err := own.Merge(ctx, target, head)
	if err != nil {
		return u, nil // nothing in common: then it is not merged
	}
	tree, err := own.TreeOf(ctx, target)
	if err == nil && len(merge.Conflicts) == 0 && merge.Tree == tree {
		u.Commits = 0
	}
	return u, err
}

// Tidy removes the working copies that hold nothing that would be missed, with
// their branches. All members have ended.
func (t *Trees) Tidy(ctx context.Context) {
	if t.ground.repo == nil {
		return
	}
	for member, own := range t.record.each() {
		if !own.ByHook {
			t.removeClean(ctx, member, own)
		}
	}
}

// removeClean removes a working copy if nothing in it would be missed. It says why
// it did not: empty if it did.
func (t *Trees) removeClean(ctx context.Context, member string, own Tree) (why string) {
	repo, err := t.ground.repo.At(ctx, own.Top)
	if err != nil {
		return err.Error()
	}
	target, err := t.ground.target(ctx, t.opts.Team().Merge.Into)
	if err != nil {
		return fmt.Sprintf("find what finished work is in: %v", err)
	}
	open, err := openWork(ctx, repo, target)
	switch {
	case err != nil:
		return err.Error()
	case !open.none():
		return "it holds " + open.String()
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err.Error()
	}
	if err := t.ground.repo.Copies.Remove(ctx, own.Top); err != nil {
		return err.Error()
	}
	t.gone(ctx, member, Changed{Op: "removed", Path: own.Top, Branch: head.Branch}, head)
	return ""
}

// gone sees to what is left of a working copy that was removed: its branch, if it is
// one of the team's, and what is remembered of it.
func (t *Trees) gone(ctx context.Context, member string, e Changed, head worktree.Head) {
	err := t.record.drop(ctx, member)
	if t.branches.made(head.Branch) {
		err = errors.Join(err, t.ground.repo.Move(ctx, "refs/heads/"+head.Branch, worktree.Step{
			From: head.Commit, Why: "covey: its working copy was removed",
		}), t.branches.disclaim(ctx, head.Branch))
	}
	if err != nil && ctx.Err() == nil {
		t.notices.warn("the working copy %s was removed, but not all traces of it: %v", e.Path, err)
	}
	t.notices.tell(member, e)
	t.fireRemoved(ctx, member, e.Path)
}

// leave sees to the working copy of a member that works in the workspace from now on.
func (t *Trees) leave(ctx context.Context, member string) {
	own, had := t.record.all()[member]
	if !had || own.ByHook || t.ground.repo == nil {
		return
	}
	if why := t.removeClean(ctx, member, own); why != "" {
		t.notices.tell(member, Changed{Op: "kept", Path: own.Top, Branch: own.Branch, Reason: why})
		t.notices.warn("%s works in the workspace from now on; its working copy %s (branch %s) stays: %s",
			member, own.Top, own.Branch, why)
	}
}

// Forget notes that a member does not work in its working copy any more. Retire sees to
// the copy if the spec does not have the member.
func (t *Trees) Forget(member string) { t.record.depart(member) }

// Retire sees to the working copies of those who are no members: the spec no longer has
// them. Work that would be missed stays where it is.
func (t *Trees) Retire(ctx context.Context) error {
	for member, own := range t.record.each() {
		if _, ok := t.record.settled(member); ok {
			continue
		}
		if own.ByHook {
			if err := t.record.drop(ctx, member); err != nil {
				return err
			}
			t.fireRemoved(ctx, member, own.Top)
			continue
		}
		if t.ground.repo == nil {
			continue
		}
		if why := t.removeClean(ctx, member, own); why != "" {
			t.notices.tell(member, Changed{Op: "kept", Path: own.Top, Branch: own.Branch, Reason: why})
			t.notices.warn("the spec has no member %s any more; its working copy %s (branch %s) stays: %s; "+
				"`git worktree remove --force %[2]s` removes it", member, own.Top, own.Branch, why)
		}
	}
	return nil
}

// forget removes what an earlier run has left (`up --fresh`). What is in no commit,
// or in none that was merged, is kept by references first.
func (t *Trees) forget(ctx context.Context) error {
	for member, own := range t.opts.Left.trees {
		if own.ByHook {
			t.fireRemoved(ctx, member, own.Top)
		}
	}
	if t.ground.repo == nil {
		return nil
	}
	copies, err := t.ground.repo.Copies.List(ctx)
	if err != nil {
		return fmt.Errorf("list the working copies of the earlier run: %w", err)
	}
	for _, c := range copies {
		if filepath.Dir(c.Path) != t.dir {
			continue
		}
		t.branches.acknowledge(c.Branch, t.branchNames(filepath.Base(c.Path)))
		if err := t.rescue(ctx, c); err != nil {
			return fmt.Errorf("the working copy %s of the earlier run: %w; look after what is in it, and remove it with "+
				"`git worktree remove --force`", c.Path, err)
		}
	}
	return nil
}

// rescue removes a working copy and keeps what is in it.
func (t *Trees) rescue(ctx context.Context, c worktree.Copy) error {
	member := filepath.Base(c.Path)
	if c.Begun {
		return t.ground.repo.Copies.Discard(ctx, c.Path)
	}
	if c.Gone != "" && !IsFolder(c.Path) {
		return t.ground.repo.Copies.Remove(ctx, c.Path) // its branch stays
	}
	own := Tree{Top: c.Path, Branch: c.Branch}
	if t.removeClean(ctx, member, own) == "" {
		return nil
	}
	repo, err := t.ground.repo.At(ctx, c.Path)
	if err != nil {
		return err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	ref := rescues + t.opts.Team().Name + "/" + member + "/" + time.Now().UTC().Format("20060102T150405.000")
	message := fmt.Sprintf("What %s of the team %s had not committed\n\nKept by covey up --fresh.", member,
		t.opts.Team().Name)
	if _, err := repo.Rescue(ctx, ref, message); err != nil {
		return err
	}
	if err := t.ground.repo.Copies.Discard(ctx, c.Path); err != nil {
		return err
	}
	t.gone(ctx, member, Changed{Op: "rescued", Path: c.Path, Branch: c.Branch, Ref: ref}, head)
	t.notices.warn("what %s had not merged is kept as %s; `git branch NAME %[2]s` makes a branch of it", member, ref)
	return nil
}

// Remains are what the store of an earlier run knows that is forgotten.
type Remains struct {
	trees    map[string]Tree // working copies, by member
	branches []string        // that the team has made
}

// ReadRemains reads them, before the store is forgotten. A store that cannot be read has
// none: git knows its own copies, and branches stay as nobody's.
func ReadRemains(ctx context.Context, store *tasks.Store) Remains {
	var left Remains
	if tasks.ReadValue(ctx, store, keyTrees, &left.trees) != nil ||
		tasks.ReadValue(ctx, store, keyBranches, &left.branches) != nil {
		return Remains{}
	}
	for _, own := range left.trees { // an older covey has noted no more
		left.branches = append(left.branches, own.Branch)
	}
	return left
}
