package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
)

// The spec of `covey run` has no tasks, so an empty task list says nothing about its
// goal. Such a run is done only if it has changed a file or completed a task since the
// lead got the goal, or if the lead has answered the goal as a question. If its tasks have
// gates, changes without a task are not enough, because no gate has judged them.

// Why a run is not done, though nothing is left to do.
const (
	noResult = "nothing was changed, no task was completed"
	unjudged = "files were changed without a task, so no gate has judged them"
)

// needsResult reports whether the run needs a result to be done: its spec is one that `covey
// run` keeps with the team's state, also if `covey up` runs it.
func (t *team) needsResult() bool {
	return filepath.Dir(t.o.team().File) == t.Place.Dir && t.only.Works()
}

// recordBaseline records the state that lacks compares with. An error is only a
// warning, and the run then counts as having a result.
func (t *team) recordBaseline(ctx context.Context) (warning []string) {
	if !t.needsResult() {
		return nil
	}
	if err := t.goals.Begin(ctx, t.folders()); err != nil {
		return []string{fmt.Sprintf("covey cannot tell whether this run changes anything: %v", err)}
	}
	return nil
}

// lacks returns why a run at rest is not done; empty: it is. If that cannot be determined,
// people are warned and the run counts as done. If it is unjudged, by names one member for
// each folder with changes.
func (t *team) lacks(ctx context.Context) (why string, by []string) {
	if !t.needsResult() {
		return "", nil
	}
	result, by, err := t.goals.Result(ctx, t.folders())
	if err != nil {
		t.Journal.Warn("covey cannot tell whether the run has changed anything: %v", err)
	}
	switch {
	case result == specs.NoResult:
		return noResult, nil
	case result == specs.Changed && t.o.team().Gates[hooks.TaskCompleted] != nil:
		return unjudged, by
	}
	return "", nil
}

// purpose returns the purpose of the run for its crew.
func (t *team) purpose() crew.Purpose {
	p := t.only
	p.Unjudged = func(ctx context.Context) []string {
		_, by := t.lacks(ctx)
		return by
	}
	p.Judge = func(ctx context.Context, owner *crew.Seat, task string) (string, error) {
		status, covey := tasks.Completed, teamtools.Actor{Fire: owner.Mate().Fire}
		_, _, err := t.Board.Update(ctx, covey, task, tasks.Patch{Status: &status})
		if refused, ok := errors.AsType[*teamtools.RefusedError](err); ok {
			return refused.Feedback, nil
		}
		return "", err
	}
	return p
}

// folders returns the folders in which members work.
func (t *team) folders() []specs.Folder {
	var list []specs.Folder
	for _, s := range t.Seats.All() {
		list = append(list, specs.Folder{Dir: s.Member.Dir, Member: s.Member.Name, Snapshot: func(ctx context.Context, base string) (writes.Snapshot, error) {
			g, err := t.writes.Folder(ctx, s.Member)
			if err != nil {
				return writes.Snapshot{}, err
			}
			// The first snapshot has no base yet and takes the present commit. A later one
			// is taken against the same base, or a commit of the member would hide its
			// changes.
			if base == "" {
				if base, err = g.Head(ctx); err != nil {
					return writes.Snapshot{}, err
				}
			}
			return g.Take(ctx, writes.Snapshot{Base: base})
		}})
	}
	return list
}
