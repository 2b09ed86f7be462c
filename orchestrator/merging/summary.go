package merging

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
)

// Left sums up, in lines for people, what has not become part of its branch: all of it,
// sorted, and what was to be merged and could not be. Work that waits until somebody asks
// for it is no problem.
func (d *Desk) Left(ctx context.Context) (unmerged, problems []string) {
	if !d.hasRepo() {
		return nil, nil
	}
	merges, err := d.opts.Store.Merges().List(ctx)
	if err != nil {
		d.opts.Log.Error("the merges that are open", "err", err)
		return nil, nil
	}
	wanted := d.opts.Team().Merge.Given
	for _, m := range merges {
		if m.State.Over() {
			continue
		}
		unmerged = append(unmerged, describe(m))
		if m.State == tasks.MergeHeld && wanted {
			problems = append(problems, describe(m))
		}
	}
	loose, err := looseWork(ctx, d.queue, d.opts.Place, "")
	if err != nil {
		d.opts.Log.Error("the work in members' copies", "err", err)
	}
	for _, w := range loose {
		unmerged = append(unmerged, w.String())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, why := range d.left {
		line := "the work on task " + id + " is not taken down: " + why
		unmerged = append(unmerged, line)
		if wanted {
			problems = append(problems, line)
		}
	}
	if d.fault != nil {
		problems = append(problems, "nothing was merged any more: "+d.fault.Error())
	}
	slices.Sort(unmerged)
	return unmerged, problems
}

// Tidy removes the working copy in which merged states were tested: it is covey's alone,
// all of it is in commits or was made by setup, and git would list it as the user's. No
// more work comes.
func (d *Desk) Tidy(ctx context.Context) {
	if !trees.IsFolder(d.queue.Scratch) {
		return
	}
	if err := d.queue.Close(ctx); err != nil {
		d.warn(fmt.Errorf("%s stays: %w; `git worktree remove --force` removes it", d.queue.Scratch, err))
	}
}

// describe says in a line what a piece of work is and how it stands.
func describe(m tasks.Merge) string {
	line := fmt.Sprintf("%s of %s (%s) is %s", m.Name(), m.Member, m.Branch, stateWords(m.State))
	if m.Reason != "" {
		line += ": " + m.Reason
	}
	return line
}

// stateWords are the states of merges as people read them.
func stateWords(s tasks.MergeState) string {
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
