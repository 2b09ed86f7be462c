package merging

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks/requests"
)

// copyOf returns the working copy of a member; false if the member works in the
// workspace or in a folder that git does not know.
func (d *Merger) copyOf(ctx context.Context, member string) (*worktree.Repo, bool, error) {
	copy, _, err := d.deps.Trees.Copy(ctx, member)
	return copy, copy != nil && err == nil, err
}

// hasCopy reports whether a member has a working copy of the repository.
func (d *Merger) hasCopy(member string) bool {
	own, has := d.deps.Trees.Of(member)
	return has && own.InGit()
}

// TreeOf returns the git tree that a member's work belongs to: that of its working
// copy, or that of the workspace while no other member writes there. It is empty
// outside of git and where several members write in one folder: a pass would be void
// with each line that another member writes.
//
// Nested repositories are not part of the tree; their presence still counts.
func (d *Merger) TreeOf(ctx context.Context, m *members.Member) (string, error) {
	if !d.hasRepo() {
		return "", nil
	}
	copy, own, err := d.copyOf(ctx, m.Name)
	if err != nil {
		return "", err
	}
	name := m.Name
	if !own {
		if _, has := d.deps.Trees.Of(m.Name); has || d.writtenByOthers(m.Name) {
			return "", nil
		}
		copy, name = d.queue.Repo, ".workspace" // cannot be a member's name
	}
	state, err := d.book.State(ctx, copy, filepath.Join(d.deps.Place.Scratch(), name+".index"))
	beyond := slices.Concat(state.Beyond, state.Withheld)
	if err != nil || len(beyond) == 0 {
		return state.Tree, err
	}
	return state.Tree + "+" + requests.KeyOf(beyond), nil
}

// writtenByOthers reports whether anybody other than this member can write in the
// workspace.
func (d *Merger) writtenByOthers(member string) bool {
	return slices.ContainsFunc(d.deps.Members.Members(), func(o *members.Member) bool {
		_, has := d.deps.Trees.Of(o.Name)
		s, ok := d.deps.Members.StateOf(o.Name)
		return o.Name != member && !has && o.Member.CanWrite() && ok && s.Gone == ""
	})
}

// Freshen updates a member's working copy between two turns with what its next work
// builds on: what has been merged, and the work on tasks that blocked its own. It does
// nothing while the member has uncommitted changes. Before, what the member has committed is brought
// to the operator's repository, and after, the branches there to the working copy.
//
// An error is only a warning: a member can work on an older state, and its work is
// merged on top of the newest one.
func (d *Merger) Freshen(ctx context.Context, member string) {
	own, _ := d.deps.Trees.Of(member)
	if own.Branch == "" {
		return
	}
	open, err := d.deps.Store.Owned(ctx, member)
	if err != nil {
		d.warn(err)
		return
	}
	var upon []string
	for _, t := range open {
		upon = append(upon, t.BlockedBy...)
	}
	copy, head, err := d.deps.Trees.Copy(ctx, member)
	if err == nil && copy == nil {
		return
	}
	if err == nil {
		_, err = copy.Publish(ctx, head)
	}
	if err != nil {
		d.warn(err)
		return
	}
	// Work of blockers that is not merged yet is taken from its own branch, so that the
	// member need not wait for the merge.
	commits, err := d.workOn(ctx, upon)
	if err == nil {
		_, err = d.queue.Freshen(ctx, copy, head, commits...)
	}
	if err == nil {
		err = copy.Share(ctx, head)
	}
	if err != nil && ctx.Err() == nil {
		d.warn(fmt.Errorf("the working copy of %s is not updated: %w", member, err))
	}
}

// workOn returns the commits of unmerged work on tasks.
func (d *Merger) workOn(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("the work on tasks: %w", err)
	}
	var commits []string
	for _, m := range merges {
		wanted := slices.ContainsFunc(m.Tasks, func(id string) bool { return slices.Contains(ids, id) })
		if wanted && !m.State.Over() {
			commits = append(commits, m.Commit)
		}
	}
	return commits, nil
}
