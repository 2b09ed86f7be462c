package orchestrator

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/teammate/agent"
)

// A team of `covey run` has no list of tasks that somebody wrote: that nobody has
// anything left to do says nothing about its goal. So such a run is done only if it
// has changed a file or completed a task since the lead was given the goal, or if the
// lead has said that the goal was a question, and has answered it.

// fruitless is why a run without any result is not done.
const fruitless = "nothing was changed, no task was completed"

// mustShow reports whether the run has to show something for its goal: its spec is one that
// `covey run` keeps beside the team's state, which holds for `covey up` of such a team, too.
func (o *Orchestrator) mustShow() bool {
	return filepath.Dir(o.team().File) == o.place.Dir && o.only.Merge == nil && !o.only.Setup
}

// beginEffort sees to it that cameToNothing can tell. What cannot be taken down keeps
// nobody from working: people are told, and it is not held against the run.
func (o *Orchestrator) beginEffort(ctx context.Context, r *rooms) {
	if !o.mustShow() {
		return
	}
	if err := r.goals.Begin(ctx, folders(r)); err != nil {
		o.repairs = append(o.repairs, fmt.Sprintf("whether this run changes anything cannot be found out: %v", err))
	}
}

// cameToNothing reports whether a run at rest has nothing to show for its goal. Where
// that cannot be found out it is not held against the run, and people are told.
func (o *Orchestrator) cameToNothing(ctx context.Context, r *rooms) bool {
	if !o.mustShow() {
		return false
	}
	nothing, err := r.goals.NoResult(ctx, folders(r))
	if err != nil {
		r.journal.Tell(agent.Warning{Text: fmt.Sprintf("whether the run has changed anything is not known: %v", err)})
	}
	return err == nil && nothing
}

// folders are those in which members work.
func folders(r *rooms) []specs.Folder {
	var list []specs.Folder
	for _, s := range r.seats.All() {
		list = append(list, specs.Folder{Dir: s.Member.Dir, Snapshot: func(ctx context.Context, base string) (owned.Snapshot, error) {
			g, err := r.work.Writes.Ground(ctx, s.Member)
			if err != nil {
				return owned.Snapshot{}, err
			}
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
