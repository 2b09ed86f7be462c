package workcopies

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/orchestrator/worktree"
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
	now, err := own.Snapshot(ctx, ref)
	if err != nil || now.Head == last.Head && t.sameTree(ctx, now.Commit, last.Commit) {
		return last, err
	}
	remote, err := t.Remote(ctx)
	if err != nil {
		return now, err
	}
	was, err := remote.At(ctx, ref)
	if err == nil && was != now.Commit {
		err = remote.Push(ctx, ref, worktree.Step{From: was, To: now.Commit})
	}
	if err != nil {
		return now, fmt.Errorf("push the working copy of %s: %w", member, err)
	}
	return now, nil
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
	ref := t.copyRef(member)
	if _, err := t.ground.repo.Commit(ctx, s.Commit); err != nil {
		remote, err := t.Remote(ctx)
		if err != nil {
			return err
		}
		if err := remote.Fetch(ctx, ref, ref); err != nil {
			return fmt.Errorf("fetch the working copy of %s: %w", member, err)
		}
	}
	if files {
		err = own.Restore(ctx, s)
	} else {
		err = own.Rebase(ctx, s.Head)
	}
	if err != nil {
		return fmt.Errorf("the working copy of %s: %w", member, err)
	}
	return nil
}
