package orchestrator

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
)

// sumUp adds to an ending what has become of finished work. What waits for somebody
// to ask for it is no problem; what was to be merged and could not be is one.
func (d *mergeDesk) sumUp(ctx context.Context, e *Ending) {
	if d == nil {
		return
	}
	merges, err := d.c.store.Merges().List(ctx)
	if err != nil {
		d.c.log.Error("the merges that are open", "err", err)
		return
	}
	for _, m := range merges {
		if m.State.Over() {
			continue
		}
		e.Unmerged = append(e.Unmerged, describeMerge(m))
		if m.State == tasks.MergeHeld && d.o.team().Merge.Given {
			e.Problems = append(e.Problems, describeMerge(m))
		}
	}
	loose, err := looseWork(ctx, d.queue, d.o.place, "")
	if err != nil {
		d.c.log.Error("the work in members' copies", "err", err)
	}
	for _, l := range loose {
		e.Unmerged = append(e.Unmerged, l.String())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, why := range d.left {
		line := "the work on task " + id + " is not taken down: " + why
		e.Unmerged = append(e.Unmerged, line)
		if d.o.team().Merge.Given {
			e.Problems = append(e.Problems, line)
		}
	}
	if d.fault != nil {
		e.Problems = append(e.Problems, "nothing was merged any more: "+d.fault.Error())
	}
	slices.Sort(e.Unmerged)
}

// tidy removes the working copy in which merged states were tested: it is covey's alone,
// all of it is in commits or was made by setup, and git would list it as the user's. Nobody
// brings work any more.
func (d *mergeDesk) tidy(ctx context.Context) {
	if d == nil || !trees.IsFolder(d.queue.Scratch) {
		return
	}
	if err := d.queue.Close(ctx); err != nil {
		d.warn(fmt.Errorf("%s stays: %w; `git worktree remove --force` removes it", d.queue.Scratch, err))
	}
}

// describeMerge says in a line what a piece of work is and how it stands.
func describeMerge(m tasks.Merge) string {
	line := fmt.Sprintf("%s of %s (%s) is %s", m.Name(), m.Member, m.Branch, mergeWords(m.State))
	if m.Reason != "" {
		line += ": " + m.Reason
	}
	return line
}

// mergeWords are the states of merges as people read them.
func mergeWords(s tasks.MergeState) string {
	switch s {
	case tasks.MergeWaiting:
		return "not merged"
	case tasks.MergeReturned:
		return "back with its author"
	case tasks.MergeReady:
		return "ready for a pull request"
	}
	return string(s)
}
