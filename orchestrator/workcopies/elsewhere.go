package workcopies

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// A member that works on another host has a working copy there and one on the coordinator's host,
// which takes part in merges and reviews. They work by turns: who gives the copy pushes what it has to
// the remote, and who takes it makes its own the same.

// copyRef returns the reference by which the copies of a member exchange what they have.
func (t *Trees) copyRef(member string) string {
	return "refs/covey/" + t.deps.Team().Name + "/" + member + "/copy"
}

// Give pushes what the working copy of a member has, unless that is last. Without a copy it returns
// the zero Snapshot.
func (t *Trees) Give(ctx context.Context, member string, last worktree.Snapshot) (worktree.Snapshot, error) {
	own, _, err := t.Copy(ctx, member)
	if err != nil || own == nil {
		return worktree.Snapshot{}, err
	}
	ref := t.copyRef(member)
	now, err := own.Snapshot(ctx, ref, last)
	if err != nil || now == last {
		return last, err
	}
	remote, err := t.Remote(ctx)
	if err != nil {
		return now, err
	}
	err = remote.Push(ctx, ref, worktree.Step{From: last.Commit, To: now.Commit})
	if errors.Is(err, worktree.ErrMoved) { // what is there is not what the copies had last
		var was string
		if was, err = remote.At(ctx, ref); err == nil && was != now.Commit {
			err = remote.Push(ctx, ref, worktree.Step{From: was, To: now.Commit})
		}
	}
	if err != nil {
		return now, fmt.Errorf("push the working copy of %s: %w", member, err)
	}
	return now, t.exchanged(ctx, member, now)
}

// keyCopy is the store key of what the copies of a member have last exchanged, the newest last.
func keyCopy(member string) string { return "copy/" + member }

// keptCopies is how many exchanges are remembered: a kill may come before the other host knows the newest.
const keptCopies = 2

// exchanged remembers what the copies of a member have exchanged.
func (t *Trees) exchanged(ctx context.Context, member string, s worktree.Snapshot) error {
	var known []worktree.Snapshot
	if err := tasks.ReadValue(ctx, t.deps.Store, keyCopy(member), &known); err != nil {
		return err
	}
	known = append(known, s)
	return t.deps.Store.Put(ctx, keyCopy(member), texts.Encode(known[max(0, len(known)-keptCopies):]))
}

// Resume is Take for a member whose life before may have left work here that was not given. If the other
// host has only what this one has given or taken, what the copy has since is kept. Otherwise the member has
// worked elsewhere meanwhile: then that counts, and what was here is kept as a reference of the repository,
// whose name Resume returns.
func (t *Trees) Resume(ctx context.Context, member string, s worktree.Snapshot) (rescued string, err error) {
	own, _, err := t.Copy(ctx, member)
	if err != nil || own == nil || s.Head == "" {
		return "", err
	}
	var known []worktree.Snapshot
	if err := errors.Join(t.fetchCopy(ctx, member, s), tasks.ReadValue(ctx, t.deps.Store, keyCopy(member), &known)); err != nil {
		return "", err
	}
	for _, k := range known {
		if t.sameTree(ctx, k.Commit, s.Commit) {
			return "", t.Take(ctx, member, s, false)
		}
	}
	if known != nil {
		rescued = fmt.Sprintf("refs/covey/rescue/%s/%s/%.12s", t.deps.Team().Name, member, s.Commit)
		if err := own.Rescue(ctx, rescued, "covey: work of "+member+" that its team does not have"); err != nil {
			return "", fmt.Errorf("keep the work of %s: %w", member, err)
		}
	}
	return rescued, t.Take(ctx, member, s, true)
}

// fetchCopy fetches what another host has given.
func (t *Trees) fetchCopy(ctx context.Context, member string, s worktree.Snapshot) error {
	if _, err := t.ground.repo.Commit(ctx, s.Commit); err == nil {
		return nil
	}
	remote, err := t.Remote(ctx)
	if err != nil {
		return err
	}
	if err := remote.Fetch(ctx, t.copyRef(member), t.copyRef(member)); err != nil {
		return fmt.Errorf("fetch the working copy of %s: %w", member, err)
	}
	return nil
}

// sameTree reports whether two commits have the same files. They need not exist.
func (t *Trees) sameTree(ctx context.Context, a, b string) bool {
	if a == b || a == "" || b == "" {
		return a == b
	}
	one, err := t.ground.repo.TreeOf(ctx, a)
	if err != nil {
		return false
	}
	other, err := t.ground.repo.TreeOf(ctx, b)
	return err == nil && one == other
}

// Take makes the working copy of a member what another host has given. If files is not set, it only
// checks out the commit and leaves the files as they are.
func (t *Trees) Take(ctx context.Context, member string, s worktree.Snapshot, files bool) error {
	own, _, err := t.Copy(ctx, member)
	if err != nil || own == nil || s.Head == "" {
		return err
	}
	if err := t.fetchCopy(ctx, member, s); err != nil {
		return err
	}
	if files {
		err = own.Restore(ctx, s)
	} else {
		err = own.Rebase(ctx, s.Head)
	}
	if err != nil {
		return fmt.Errorf("the working copy of %s: %w", member, err)
	}
	return t.exchanged(ctx, member, s)
}
