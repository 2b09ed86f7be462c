package merging

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
)

// Unmerged describes unmerged work in lines for people: all of it, and as problems
// what should have been merged but could not be. Work that waits for a request is no
// problem.
func (d *Merger) Unmerged(ctx context.Context) (unmerged, problems []string) {
	if !d.hasRepo() {
		return nil, nil
	}
	d.warn(d.look(ctx, false, true))
	held, err := d.queue.Watch.held(ctx)
	d.warn(err)
	for _, t := range held {
		way := fmt.Sprintf("deny %s undoes it, and covey up goes on", t.Asked)
		if t.Branch == rulesTarget {
			way = "or undo it; covey up goes on"
		}
		problems = append(problems, fmt.Sprintf("%s; covey inbox approve %s accepts that, %s", t.Text, t.Asked, way))
	}
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		d.deps.Log.Error("read the open merges", "err", err)
		return nil, problems
	}
	wanted := d.deps.Team().Merge.Given
	slices.SortStableFunc(merges, func(a, b tasks.Merge) int { return tasks.CompareIDs(a.Subject(), b.Subject()) })
	for _, m := range merges {
		if m.State.Over() {
			continue
		}
		unmerged = append(unmerged, describe(m))
		stays := slices.ContainsFunc(held, func(t target) bool { return t.Asked == m.Asked }) // it goes on with the answer
		if m.State == tasks.MergeHeld && wanted && !stays {
			problems = append(problems, describe(m))
		}
	}
	loose, err := looseWork(ctx, d.queue, d.deps.Place, "")
	if err != nil {
		d.deps.Log.Error("read the work in members' working copies", "err", err)
	}
	for _, w := range loose {
		unmerged = append(unmerged, w.String())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.left)) {
		line := "the work on task " + id + " is not harvested: " + d.left[id]
		unmerged = append(unmerged, line)
		if wanted {
			problems = append(problems, line)
		}
	}
	if d.fault != nil {
		problems = append(problems, "merging stopped: "+d.fault.Error())
	}
	return unmerged, problems
}

// Landed returns in lines for people what this run has merged into which branch, and as which
// commit: people who pull or push a branch must know that it has moved.
func (d *Merger) Landed(ctx context.Context) []string {
	if !d.hasRepo() {
		return nil
	}
	merges, err := d.deps.Store.Merges().List(ctx)
	if err != nil {
		d.deps.Log.Error("read the merges of this run", "err", err)
		return nil
	}
	return landed(slices.DeleteFunc(merges, func(m tasks.Merge) bool { return d.past[m.ID] }))
}

// Moved returns in lines for people what this run has found to have changed without the merge queue.
func (d *Merger) Moved() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lines []string
	for _, m := range d.moves {
		lines = append(lines, m.Text)
	}
	return lines
}

// landed is Landed for the merges of a run. Those that a person has merged have no Result.
func landed(merges []tasks.Merge) []string {
	slices.SortStableFunc(merges, func(a, b tasks.Merge) int { return a.Updated.Compare(b.Updated) })
	count, last, seen := map[string]int{}, map[string]string{}, map[string]bool{}
	for _, m := range merges {
		if m.State != tasks.MergeDone || m.Result == "" {
			continue
		}
		// Work that came in with an earlier merge may be found after a later one.
		if count[m.Into]++; !seen[m.Result] {
			last[m.Into], seen[m.Result] = m.Result, true
		}
	}
	var lines []string
	for _, into := range slices.Sorted(maps.Keys(count)) {
		what := "1 piece"
		if n := count[into]; n > 1 {
			what = fmt.Sprintf("%d pieces", n)
		}
		lines = append(lines, fmt.Sprintf("%s of work merged into %s (%.10s)", what, into, last[into]))
	}
	return lines
}

// Tidy removes the working copy in which merged states were tested. It holds only
// commits and what setup made. Call it when no more work comes.
func (d *Merger) Tidy(ctx context.Context) {
	if !workcopies.IsFolder(d.queue.Scratch) {
		return
	}
	if err := d.queue.Close(ctx); err != nil {
		d.warn(fmt.Errorf("%s stays: %w; nothing in it is needed", d.queue.Scratch, err))
	}
}

// Became returns for people what became of the work that a request was about: "merged task 1", or
// "1 of 3 merged, 2 sent back".
func Became(r api.MergeRequest, list []tasks.Merge) string {
	counts := map[tasks.MergeState]int{}
	var others []tasks.MergeState
	for _, m := range list {
		if counts[m.State]++; counts[m.State] == 1 && m.State != tasks.MergeDone {
			others = append(others, m.State)
		}
	}
	if len(others) == 0 {
		return "merged " + r.String()
	}
	line := fmt.Sprintf("%d of %d merged", counts[tasks.MergeDone], len(list))
	for _, s := range others {
		line += fmt.Sprintf(", %d %s", counts[s], stateWords(s))
	}
	return line
}

// describe returns a line that says what a piece of work is and what state it is in.
func describe(m tasks.Merge) string {
	line := fmt.Sprintf("%s (%s) is %s", m.Authored(), m.Branch, stateWords(m.State))
	if m.Reason != "" {
		line += ": " + m.Reason
	}
	return line
}

// stateWords returns the state of a merge for people.
func stateWords(s tasks.MergeState) string {
	switch s {
	case tasks.MergeWaiting:
		return "not merged"
	case tasks.MergeReturned:
		return "sent back"
	case tasks.MergeReady:
		return "ready for a pull request"
	}
	return string(s)
}
