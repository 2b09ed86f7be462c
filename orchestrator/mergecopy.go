package orchestrator

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// copyOf is the working copy that a member has for itself; false if it works in the
// workspace, or in a folder that git does not know.
func (d *mergeDesk) copyOf(ctx context.Context, s *seat) (*worktree.Repo, bool, error) {
	own, has := d.c.trees.Of(s.member.Name)
	if !has || own.Branch == "" {
		return nil, false, nil
	}
	copy, err := d.queue.Repo.At(ctx, own.Top)
	return copy, err == nil, err
}

// branchOf is the branch of the working copy that a member has for itself; empty: it works
// in the workspace, or in a folder that git does not know.
func (d *mergeDesk) branchOf(s *seat) string {
	own, _ := d.c.trees.Of(s.member.Name)
	return own.Branch
}

// treeOf is git's name of the files that a member's work is among: those of its working
// copy, or those of the workspace while nobody else writes there. It is empty outside of
// git, and where several write in one folder: there the tree is never one member's, and
// a yes to it would be void with each line that another one writes.
//
// Folders that are repositories of their own are in no tree; that they are there counts.
func (d *mergeDesk) treeOf(ctx context.Context, s *seat) (string, error) {
	if d == nil {
		return "", nil
	}
	copy, own, err := d.copyOf(ctx, s)
	if err != nil {
		return "", err
	}
	name := s.member.Name
	if !own {
		if _, has := d.c.trees.Of(s.member.Name); has || d.writtenByOthers(s) {
			return "", nil
		}
		copy, name = d.queue.Repo, ".workspace" // no member's name
	}
	state, err := d.book.State(ctx, copy, filepath.Join(d.o.place.Scratch(), name+".index"))
	beyond := slices.Concat(state.Beyond, state.Withheld)
	if err != nil || len(beyond) == 0 {
		return state.Tree, err
	}
	return state.Tree + "+" + requests.KeyOf(beyond), nil
}

// writtenByOthers reports whether somebody else can write where a member works, which is
// the workspace.
func (d *mergeDesk) writtenByOthers(s *seat) bool {
	return slices.ContainsFunc(d.c.seats(), func(o *seat) bool {
		_, has := d.c.trees.Of(o.member.Name)
		return o != s && !has && trees.CanWrite(*o.member.Member) && o.life.State().Gone == ""
	})
}

// freshen brings into a member's working copy, between two turns, what its next work
// builds upon: what has been merged, and the work on the tasks that its own waited
// for. Nothing comes while the member has something that is not committed.
//
// Trouble is told and holds up no turn: a member on an older state can work, and what it
// makes is merged on top of the newest one all the same.
func (d *mergeDesk) freshen(ctx context.Context, s *seat) {
	if d == nil {
		return
	}
	all, err := d.c.store.List(ctx)
	if err != nil {
		d.warn(err)
		return
	}
	var upon []string
	for _, t := range all {
		if t.Owner == s.member.Name && t.Status != tasks.Completed {
			upon = append(upon, t.BlockedBy...)
		}
	}
	copy, ok, err := d.copyOf(ctx, s)
	if err != nil || !ok {
		d.warn(err)
		return
	}
	commits, err := d.workOn(ctx, upon)
	if err == nil {
		_, err = d.queue.Freshen(ctx, copy, commits...)
	}
	if err != nil && ctx.Err() == nil {
		d.warn(fmt.Errorf("the working copy of %s is not brought up to date: %w", s.member.Name, err))
	}
}

// workOn are the commits of work on tasks that is in no branch yet.
func (d *mergeDesk) workOn(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	merges, err := d.c.store.Merges().List(ctx)
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
