package worktree

import (
	"context"
	"fmt"
)

// Snapshot is what a clone has at one moment, for a clone of the same member on another host.
type Snapshot struct {
	Head   string `json:"head,omitempty"`   // the commit that is checked out; empty: the member has no clone
	Commit string `json:"commit,omitempty"` // has all files that git does not ignore; Head, if nothing is changed
}

// Snapshot brings what a clone has to a reference of the operator's repository, unless that is last. It changes
// neither files nor branch of the clone. Files whose filter must not run are left out.
func (r *Repo) Snapshot(ctx context.Context, ref string, last Snapshot) (Snapshot, error) {
	r, err := r.Operation(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	if r.lent == nil {
		return Snapshot{}, fmt.Errorf("%w: %s is no clone of a member", ErrNoRepo, r.Top)
	}
	state, err := r.State(ctx, "")
	if err != nil {
		return Snapshot{}, err
	}
	if state.Head.Commit == last.Head {
		if tree, err := r.TreeOf(ctx, last.Commit); err == nil && tree == state.Tree {
			return last, nil
		}
	}
	commit, err := r.keep(ctx, state, "covey: a member's working copy", Person{})
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{state.Head.Commit, commit}, r.lent.base.repo.Fetch(ctx, r, commit, ref)
}

// Restore gives a clone what another one had. The operator's repository must have the commits. Files
// that git ignores stay; nobody may work in the clone if files differ.
func (r *Repo) Restore(ctx context.Context, s Snapshot) error {
	r, err := r.Operation(ctx)
	if err != nil {
		return err
	}
	state, err := r.State(ctx, "")
	if err != nil {
		return err
	}
	tree, err := r.TreeOf(ctx, s.Commit)
	if err != nil {
		return err
	}
	if state.Tree != tree {
		if _, err := r.run(ctx, "clean", "--quiet", "-d", "--force", "--force"); err != nil {
			return err
		}
		if _, err := r.run(ctx, "reset", "--quiet", "--hard", s.Commit, "--"); err != nil {
			return err
		}
	} else if state.Head.Commit == s.Head {
		return nil
	}
	return r.Rebase(ctx, s.Head)
}

// Rebase checks out another commit in a clone without touching its files, which then count as changed
// where they differ.
func (r *Repo) Rebase(ctx context.Context, head string) error {
	if _, err := r.run(ctx, "reset", "--quiet", "--mixed", head, "--"); err != nil {
		return err
	}
	return r.withhold(ctx)
}
