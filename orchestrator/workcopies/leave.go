package workcopies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// rescues is where references keep the commits of removed working copies.
const rescues = "refs/covey/rescue/"

// unmerged is the work in a working copy that removing it would lose.
type unmerged struct {
	Changed int      // files that differ from the copy's last commit, new ones included
	Commits int      // commits that are not in the target branch
	Strays  []string // branches of the copy, other than its current one, with commits of their own; or its stash
	Beyond  []string // nested repositories, which cannot be committed
	// Withheld are changed or new files with a git filter that covey must not run.
	Withheld []string
}

// none reports whether there is no such work.
func (u unmerged) none() bool {
	return u.Changed == 0 && u.Commits == 0 && len(u.Strays)+len(u.Beyond)+len(u.Withheld) == 0
}

// String describes the work for people.
func (u unmerged) String() string {
	var parts []string
	if u.Changed > 0 {
		parts = append(parts, fmt.Sprintf("%d uncommitted files", u.Changed))
	}
	if u.Commits > 0 {
		parts = append(parts, fmt.Sprintf("%d unmerged commits", u.Commits))
	}
	if len(u.Strays) > 0 {
		parts = append(parts, "commits on "+texts.Few(u.Strays, 3))
	}
	if len(u.Beyond) > 0 {
		parts = append(parts, "nested repositories: "+texts.Few(u.Beyond, 3))
	}
	if len(u.Withheld) > 0 {
		parts = append(parts, "files with a filter that covey must not run: "+texts.Few(u.Withheld, 3))
	}
	return strings.Join(parts, ", ")
}

// openWork returns the unmerged work in a working copy, where the commit target contains
// finished work, and what the copy has checked out.
func openWork(ctx context.Context, own *worktree.Repo, target string) (u unmerged, head worktree.Head, err error) {
	if u, head, err = uncommitted(ctx, own); err == nil {
		u.Commits, err = unmergedCommits(ctx, own, target, head.Commit)
	}
	return u, head, err
}

// uncommitted is openWork without the commits.
func uncommitted(ctx context.Context, own *worktree.Repo) (u unmerged, head worktree.Head, err error) {
	if own, err = own.Operation(ctx); err != nil {
		return u, head, fmt.Errorf("read its state: %w", err)
	}
	state, err := own.State(ctx, "")
	if err != nil {
		return u, head, fmt.Errorf("read its state: %w", err)
	}
	if head = state.Head; head.Commit == "" {
		return u, head, fmt.Errorf("%w: its branch %s has no commit", worktree.ErrNoRef, head.Branch)
	}
	changed, err := own.Changed(ctx, head.Tree, state.Tree)
	if err != nil {
		return u, head, fmt.Errorf("compare it with its last commit: %w", err)
	}
	strays, err := own.Strays(ctx)
	if err != nil {
		return u, head, fmt.Errorf("list its branches: %w", err)
	}
	for _, s := range strays {
		u.Strays = append(u.Strays, s.Name)
	}
	u.Changed, u.Beyond, u.Withheld = len(changed), state.Beyond, state.Withheld
	return u, head, nil
}

// unmergedCommits counts the commits that lead to commit and that target does not contain.
// Commits that were squashed into one, as pull requests often are, count as merged.
func unmergedCommits(ctx context.Context, repo *worktree.Repo, target, commit string) (int, error) {
	count, err := repo.Ahead(ctx, target, commit)
	if err != nil || count == 0 {
		return count, err
	}
	merge, err := repo.Merge(ctx, target, commit)
	if err != nil {
		return count, nil // no common history: not merged
	}
	tree, err := repo.TreeOf(ctx, target)
	if err == nil && len(merge.Conflicts) == 0 && merge.Tree == tree {
		count = 0
	}
	return count, err
}

// Tidy removes the working copies without unmerged work, and their branches. All
// members must have ended.
func (t *Trees) Tidy(ctx context.Context) {
	if t.ground.repo == nil {
		return
	}
	for member, own := range t.record.each() {
		if !own.ByHook {
			t.removeClean(ctx, member, own)
		}
	}
	left, err := os.ReadDir(t.dir)
	if err == nil && len(left) == 0 || errors.Is(err, fs.ErrNotExist) {
		err = t.base.Drop(ctx)
	}
	if err != nil && ctx.Err() == nil {
		t.notices.warn("clean up after the working copies: %v", err)
	}
}

// removeClean removes a working copy without unmerged work. It returns why it did not,
// or empty if it did.
//
// The work is looked at here and not before, so that a commit of the last moment counts: first
// where the copy is, and then again where nobody finds it.
func (t *Trees) removeClean(ctx context.Context, member string, own Tree) (why string) {
	target, err := t.ground.target(ctx, t.deps.Team().Merge.Into)
	if err != nil {
		return fmt.Sprintf("find the target of finished work: %v", err)
	}
	repo, head, err := t.base.Open(ctx, own.Top, own.Branch)
	if err != nil {
		return err.Error()
	}
	if _, err := repo.Publish(ctx, head); err != nil {
		return err.Error()
	}
	held := func(repo *worktree.Repo) string {
		open, now, err := openWork(ctx, repo, target)
		switch {
		case err != nil:
			return err.Error()
		case !open.none():
			return "it holds " + open.String()
		case now.Commit != head.Commit:
			return "it has changed meanwhile"
		}
		return ""
	}
	if why := held(repo); why != "" {
		return why
	}
	if _, err := os.Stat(filepath.Join(repo.GitDir, "modules")); err == nil {
		return "it holds submodules"
	}
	hidden := filepath.Join(t.dir, looked+member)
	if err := os.Rename(own.Top, hidden); err != nil {
		return err.Error()
	}
	if repo, _, err = t.base.Open(ctx, hidden, own.Branch); err == nil {
		why = held(repo)
	} else {
		why = err.Error()
	}
	if err := os.Rename(hidden, own.Top); err != nil {
		return errors.Join(errors.New(why), err).Error()
	}
	if why == "" {
		if err := t.base.Discard(ctx, own.Top); err != nil {
			return err.Error()
		}
		t.gone(ctx, member, events.WorktreeChanged{Op: "removed", Path: own.Top, Branch: own.Branch}, head)
	}
	return why
}

// looked begins the name of a working copy while removeClean looks at it.
const looked = ".look-"

// putBack gives the working copies their names back that a killed removeClean looked at.
func putBack(dir string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range found {
		name, ok := strings.CutPrefix(e.Name(), looked)
		if ok {
			err = errors.Join(err, os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, name)))
		}
	}
	if err != nil {
		return fmt.Errorf("put working copies back: %w", err)
	}
	return nil
}

// gone deletes the branch of a removed working copy, if it is the team's, and the record of
// the copy.
//
// The branch is deleted only if it still is where it was found: a commit that came in
// between keeps it. An error leaves a record or a branch too many, so it is only reported.
func (t *Trees) gone(ctx context.Context, member string, e events.WorktreeChanged, head worktree.Head) {
	t.ports.release(t.ground.rootIn(e.Path))
	err := t.record.drop(ctx, member)
	if t.record.made(e.Branch) {
		moved := t.ground.repo.Move(ctx, "refs/heads/"+e.Branch, worktree.Step{
			From: head.Commit, Why: "covey: its working copy was removed",
		})
		if errors.Is(moved, worktree.ErrMoved) {
			moved = nil // the operator has moved it
		}
		err = errors.Join(err, moved, t.record.disclaim(ctx, e.Branch))
	}
	if err != nil && ctx.Err() == nil {
		t.notices.warn("the working copy %s was removed, but cleaning up after it failed: %v", e.Path, err)
	}
	t.notices.tell(member, e)
	t.fireRemoved(ctx, member, e.Path)
}

// leave handles the working copy of a member that works in the workspace from now on.
func (t *Trees) leave(ctx context.Context, member string) {
	own, had := t.record.all()[member]
	if !had || own.ByHook || t.ground.repo == nil {
		return
	}
	if why := t.removeClean(ctx, member, own); why != "" {
		t.notices.tell(member, events.WorktreeChanged{Op: "kept", Path: own.Top, Branch: own.Branch, Reason: why})
		t.notices.warn("%s works in the workspace from now on; its working copy %s (branch %s) stays: %s",
			member, own.Top, own.Branch, why)
	}
}

// Forget records that a member no longer works in its working copy. Retire handles the
// copy if the spec no longer has the member.
func (t *Trees) Forget(member string) { t.record.removeMember(member) }

// Left handles the working copy of a member that the spec no longer has. It implements
// crew.Leaver.
func (t *Trees) Left(ctx context.Context, member string) error {
	t.Forget(member)
	if err := t.Retire(ctx); err != nil {
		return fmt.Errorf("the working copy of %s: %w", member, err)
	}
	return nil
}

// Retire handles the working copies of members that the spec no longer has. It keeps
// those with unmerged work.
func (t *Trees) Retire(ctx context.Context) error {
	for member, own := range t.record.each() {
		if _, ok := t.record.member(member); ok {
			continue
		}
		if own.ByHook {
			if err := t.record.drop(ctx, member); err != nil {
				return err
			}
			t.ports.release(own.Root)
			t.fireRemoved(ctx, member, own.Top)
			continue
		}
		if t.ground.repo == nil {
			continue
		}
		if why := t.removeClean(ctx, member, own); why != "" {
			t.notices.tell(member, events.WorktreeChanged{Op: "kept", Path: own.Top, Branch: own.Branch, Reason: why})
			t.notices.warn("the spec no longer has member %s; its working copy %s (branch %s) stays: %s; "+
				"delete it if nothing in it is needed", member, own.Top, own.Branch, why)
		}
	}
	return nil
}

// forget removes the copies of an earlier run (`up --fresh`). References keep their
// unmerged and uncommitted work.
func (t *Trees) forget(ctx context.Context) error {
	for member, own := range t.deps.Left.trees {
		if own.ByHook {
			t.fireRemoved(ctx, member, own.Top)
		}
	}
	if t.ground.repo == nil {
		return nil
	}
	for member, own := range t.record.each() {
		if err := t.rescue(ctx, member, own); err != nil {
			return fmt.Errorf("the working copy %s of the earlier run: %w; save its content, and delete the folder", own.Top, err)
		}
	}
	return nil
}

// rescue removes a working copy and keeps its work.
//
// The reference exists before the copy is discarded, so a crash in between leaves both.
func (t *Trees) rescue(ctx context.Context, member string, own Tree) error {
	if t.removeClean(ctx, member, own) == "" {
		return nil
	}
	repo, head, err := t.base.Open(ctx, own.Top, own.Branch)
	if err != nil {
		return err
	}
	ref := rescues + t.deps.Team().Name + "/" + member + "/" + time.Now().UTC().Format("20060102T150405.000")
	message := fmt.Sprintf("Uncommitted work of %s of the team %s\n\nKept by covey up --fresh.", member,
		t.deps.Team().Name)
	if err := repo.Rescue(ctx, ref, message); err != nil {
		return err
	}
	if err := t.base.Discard(ctx, own.Top); err != nil {
		return err
	}
	t.gone(ctx, member, events.WorktreeChanged{Op: "rescued", Path: own.Top, Branch: own.Branch, Ref: ref}, head)
	t.notices.warn("the unmerged work of %s is kept as %s; `git branch NAME %[2]s` creates a branch for it", member, ref)
	return nil
}

// Remains is what the store of a forgotten run knows.
type Remains struct {
	trees    map[string]Tree // working copies, by member
	branches []string        // branches that the team created
}

// ReadRemains reads them before the store is deleted. It returns nothing for an
// unreadable store: git knows its copies, and the branches then count as foreign.
func ReadRemains(ctx context.Context, store *tasks.Store) Remains {
	var left Remains
	if tasks.ReadValue(ctx, store, keyTrees, &left.trees) != nil ||
		tasks.ReadValue(ctx, store, keyBranches, &left.branches) != nil {
		return Remains{}
	}
	return left
}
