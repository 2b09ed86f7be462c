package orchestrator

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/teammate/agent"
)

// The spec of `covey run` has no tasks, so an empty task list says nothing about its
// goal. Such a run is done only if it has changed a file or completed a task since the
// lead got the goal, or if the lead has answered the goal as a question.

// noResult is the reason for a run without any result.
const noResult = "nothing was changed, no task was completed"

// needsResult reports whether the run needs a result to be done: its spec is one that `covey
// run` keeps with the team's state, also if `covey up` runs it.
func (o *Orchestrator) needsResult() bool {
	return filepath.Dir(o.team().File) == o.place.Dir && o.only.Merge == nil && !o.only.Setup
}

// recordBaseline records the state that hasNoResult compares with. An error is only a
// warning, and the run then counts as having a result.
func (o *Orchestrator) recordBaseline(ctx context.Context, r *rooms) {
	if !o.needsResult() {
		return
	}
	if err := r.goals.Begin(ctx, folders(r)); err != nil {
		o.repairs = append(o.repairs, fmt.Sprintf("covey cannot tell whether this run changes anything: %v", err))
	}
}

// hasNoResult reports whether a run at rest has no result. If that cannot be
// determined, people are warned and the run counts as having one.
func (o *Orchestrator) hasNoResult(ctx context.Context, r *rooms) bool {
	if !o.needsResult() {
		return false
	}
	nothing, err := r.goals.NoResult(ctx, folders(r))
	if err != nil {
		r.journal.Tell(agent.Warning{Text: fmt.Sprintf("covey cannot tell whether the run has changed anything: %v", err)})
	}
	return err == nil && nothing
}

// folders returns the folders in which members work.
func folders(r *rooms) []specs.Folder {
	var list []specs.Folder
	for _, s := range r.seats.All() {
		list = append(list, specs.Folder{Dir: s.Member.Dir, Snapshot: func(ctx context.Context, base string) (owned.Snapshot, error) {
			g, err := r.work.Writes.Ground(ctx, s.Member)
			if err != nil {
				return owned.Snapshot{}, err
			}
			// The first snapshot has no base yet and takes the present commit. A later one
			// is taken against the same base, or a commit of the member would hide its
			// changes.
			if base == "" {
				if base, err = g.Head(ctx); err != nil {
					return owned.Snapshot{}, err
				}
			}
			return g.Take(ctx, owned.Snapshot{Base: base}, nil)
		}})
	}
	return list
}
