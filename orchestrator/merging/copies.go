package merging

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// copyOf is the working copy that a member has for itself; false if it works in the
// workspace, or in a folder that git does not know.
func (d *Desk) copyOf(ctx context.Context, member string) (*worktree.Repo, bool, error) {
	own, has := d.opts.Trees.Of(member)
	if !has || own.Branch == "" {
		return nil, false, nil
	}
	copy, err := d.queue.Repo.At(ctx, own.Top)
	return copy, err == nil, err
}

// branchOf is the branch of the working copy that a member has for itself; empty if it
// works in the workspace, or in a folder that git does not know.
func (d *Desk) branchOf(member string) string {
	own, _ := d.opts.Trees.Of(member)
	return own.Branch
}

// TreeOf is git's name of the files that a member's work is among: those of its working
// copy, or those of the workspace while nobody else writes there. It is empty outside of
// git, and where several write in one folder: there the tree is never one member's, and
// a yes to it would be void with each line that another one writes.
//
// Folders that are repositories of their own are in no tree; that they are there counts.
func (d *Desk) TreeOf(ctx context.Context, m *roster.Member) (string, error) {
	if !d.hasRepo() {
		return "", nil
	}
	copy, own, err := d.copyOf(ctx, m.Name)
	if err != nil {
		return "", err
	}
	name := m.Name
	if !own {
		if _, has := d.opts.Trees.Of(m.Name); has || d.writtenByOthers(m.Name) {
			return "", nil
		}
		copy, name = d.queue.Repo, ".workspace" // no member's name
	}
	state, err := d.book.State(ctx, copy, filepath.Join(d.opts.Place.Scratch(), name+".index"))
	beyond := slices.Concat(state.Beyond, state.Withheld)
	if err != nil || len(beyond) == 0 {
		return state.Tree, err
	}
	return state.Tree + "+" + requests.KeyOf(beyond), nil
}

// writtenByOthers reports whether somebody else than a member that works in the
// workspace can write there.
func (d *Desk) writtenByOthers(member string) bool {
	return slices.ContainsFunc(d.opts.Members.All(), func(o *roster.Member) bool {
		_, has := d.opts.Trees.Of(o.Name)
		s, ok := d.opts.Members.StateOf(o.Name)
		return o.Name != member && !has && trees.CanWrite(*o.Member) && ok && s.Gone == ""
	})
}

// Freshen brings into a member's working copy, between two turns, what its next work
// builds upon: what has been merged, and the work on the tasks that its own waited
// for. Nothing comes while the member has something that is not committed.
//
// An error is a warning and holds up no turn: a member on an older state can work, and
// what it makes is merged on top of the newest one all the same.
func (d *Desk) Freshen(ctx context.Context, member string) {
	if d.branchOf(member) == "" {
		return
	}
	all, err := d.opts.Store.List(ctx)
	if err != nil {
		d.warn(err)
		return
	}
	var upon []string
	for _, t := range all {
		if t.Owner == member && t.Status != tasks.Completed {
			upon = append(upon, t.BlockedBy...)
		}
	}
	copy, ok, err := d.copyOf(ctx, member)
	if err != nil || !ok {
		d.warn(err)
		return
	}
	commits, err := d.workOn(ctx, upon)
	if err == nil {
		_, err = d.queue.Freshen(ctx, copy, commits...)
	}
	if err != nil && ctx.Err() == nil {
		d.warn(fmt.Errorf("the working copy of %s is not brought up to date: %w", member, err))
	}
}

// workOn are the commits of work on tasks that is in no branch yet.
func (d *Desk) workOn(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	merges, err := d.opts.Store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("work on tasks: %w", err)
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
