package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

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

// target is the commit that finished work is in.
func (t *trees) target(ctx context.Context) (string, error) {
	if into := t.o.team().Merge.Into; into != "" {
		if commit, err := t.repo.Commit(ctx, "refs/heads/"+into); !errors.Is(err, worktree.ErrNoRef) {
			return commit, err
		}
	}
	return t.repo.Commit(ctx, "HEAD")
}

// openWork finds out what of a working copy would be missed.
func (t *trees) openWork(ctx context.Context, own *worktree.Repo) (unmerged, error) {
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
	target, err := t.target(ctx)
	if err != nil {
		return u, fmt.Errorf("find what finished work is in: %w", err)
	}
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

// tidy removes the working copies that hold nothing that would be missed, with
// their branches. All members have ended.
func (t *trees) tidy(ctx context.Context) {
	if t == nil || t.repo == nil {
		return
	}
	for member, own := range t.ours() {
		if !own.ByHook {
			t.removeClean(ctx, member, own)
		}
	}
}

// ours are the working copies by member, in order.
func (t *trees) ours() iter.Seq2[string, ownTree] {
	return func(yield func(string, ownTree) bool) {
		all := t.known()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}

// removeClean removes a working copy if nothing in it would be missed. It says why
// it did not: empty if it did.
func (t *trees) removeClean(ctx context.Context, member string, own ownTree) (why string) {
	repo, err := t.repo.At(ctx, own.Top)
	if err != nil {
		return err.Error()
	}
	open, err := t.openWork(ctx, repo)
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
	if err := t.repo.Copies.Remove(ctx, own.Top); err != nil {
		return err.Error()
	}
	t.gone(ctx, member, WorktreeChanged{Op: "removed", Path: own.Top, Branch: head.Branch}, head)
	return ""
}

// gone sees to what is left of a working copy that was removed: its branch, if it is
// one of the team's, and what is remembered of it.
func (t *trees) gone(ctx context.Context, member string, e WorktreeChanged, head worktree.Head) {
	err := t.drop(ctx, member)
	if t.made(head.Branch) {
		err = errors.Join(err, t.repo.Move(ctx, "refs/heads/"+head.Branch, worktree.Step{
			From: head.Commit, Why: "covey: its working copy was removed",
		}), t.disclaim(ctx, head.Branch))
	}
	if err != nil && ctx.Err() == nil {
		t.warn("the working copy %s was removed, but not all traces of it: %v", e.Path, err)
	}
	t.tell(member, e)
	t.fireRemoved(ctx, member, e.Path)
}

// leave sees to the working copy of a member that works in the workspace from now on.
func (t *trees) leave(ctx context.Context, member string) {
	own, had := t.known()[member]
	if !had || own.ByHook || t.repo == nil {
		return
	}
	if why := t.removeClean(ctx, member, own); why != "" {
		t.tell(member, WorktreeChanged{Op: "kept", Path: own.Top, Branch: own.Branch, Reason: why})
		t.warn("%s works in the workspace from now on; its working copy %s (branch %s) stays: %s",
			member, own.Top, own.Branch, why)
	}
}

// retire sees to the working copies of members that the spec no longer has. Work
// that would be missed stays where it is.
func (t *trees) retire(ctx context.Context) error {
	if t == nil {
		return nil
	}
	for member, own := range t.ours() {
		if _, ok := t.c.seat(member); ok {
			continue
		}
		if own.ByHook {
			if err := t.drop(ctx, member); err != nil {
				return err
			}
			t.fireRemoved(ctx, member, own.Top)
			continue
		}
		if t.repo == nil {
			continue
		}
		if why := t.removeClean(ctx, member, own); why != "" {
			t.tell(member, WorktreeChanged{Op: "kept", Path: own.Top, Branch: own.Branch, Reason: why})
			t.warn("the spec has no member %s any more; its working copy %s (branch %s) stays: %s; "+
				"`git worktree remove --force %[2]s` removes it", member, own.Top, own.Branch, why)
		}
	}
	return nil
}

// forget removes what an earlier run has left (`up --fresh`). What is in no commit,
// or in none that was merged, is kept by references first.
func (t *trees) forget(ctx context.Context) error {
	for member, own := range t.o.left.trees {
		if own.ByHook {
			t.fireRemoved(ctx, member, own.Top)
		}
	}
	if t.repo == nil {
		return nil
	}
	copies, err := t.repo.Copies.List(ctx)
	if err != nil {
		return fmt.Errorf("list the working copies of the earlier run: %w", err)
	}
	for _, c := range copies {
		if filepath.Dir(c.Path) != t.dir {
			continue
		}
		t.acknowledge(filepath.Base(c.Path), c.Branch)
		if err := t.rescue(ctx, c); err != nil {
			return fmt.Errorf("the working copy %s of the earlier run: %w; look after what is in it, and remove it with "+
				"`git worktree remove --force`", c.Path, err)
		}
	}
	return nil
}

// rescue removes a working copy and keeps what is in it.
func (t *trees) rescue(ctx context.Context, c worktree.Copy) error {
	member := filepath.Base(c.Path)
	if c.Begun {
		return t.repo.Copies.Discard(ctx, c.Path)
	}
	if c.Gone != "" && !isFolder(c.Path) {
		return t.repo.Copies.Remove(ctx, c.Path) // its branch stays
	}
	own := ownTree{Top: c.Path, Branch: c.Branch}
	if t.removeClean(ctx, member, own) == "" {
		return nil
	}
	repo, err := t.repo.At(ctx, c.Path)
	if err != nil {
		return err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	ref := rescues + t.o.team().Name + "/" + member + "/" + time.Now().UTC().Format("20060102T150405.000")
	message := fmt.Sprintf("What %s of the team %s had not committed\n\nKept by covey up --fresh.", member,
		t.o.team().Name)
	if _, err := repo.Rescue(ctx, ref, message); err != nil {
		return err
	}
	if err := t.repo.Copies.Discard(ctx, c.Path); err != nil {
		return err
	}
	t.gone(ctx, member, WorktreeChanged{Op: "rescued", Path: c.Path, Branch: c.Branch, Ref: ref}, head)
	t.warn("what %s had not merged is kept as %s; `git branch NAME %[2]s` makes a branch of it", member, ref)
	return nil
}

// remains are what the store of an earlier run knows that is forgotten.
type remains struct {
	trees    map[string]ownTree // working copies, by member
	branches []string           // that the team has made
}

// leftBehind reads the remains, before the store is forgotten. A store that cannot be
// read knows none: git knows its own copies, and branches stay as nobody's.
func leftBehind(ctx context.Context, p state.Place) remains {
	if _, err := os.Stat(p.Store()); err != nil {
		return remains{}
	}
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: storeBackups,
		Identity: p.Identity(), LockTimeout: readersWait})
	if err != nil {
		return remains{}
	}
	defer store.Close()
	var left remains
	if tasks.ReadValue(ctx, store, keyTrees, &left.trees) != nil || tasks.ReadValue(ctx, store, keyBranches, &left.branches) != nil {
		return remains{}
	}
	for _, own := range left.trees { // an older covey has noted no more
		left.branches = append(left.branches, own.Branch)
	}
	return left
}
