package ask

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// filesStatus returns the status of a team that does not run, from its files. It
// leaves empty what only a process knows: the pass of the current turn, what a member
// does, who is attached. What the journal knows comes from view.ReadLastRun; what the store
// knows, such as tasks and unread mail, is read here. A run that was cut off has no result.
func filesStatus(ctx context.Context, place state.Place) (api.Status, error) {
	file, err := state.ReadRunFile(place)
	if errors.Is(err, fs.ErrNotExist) {
		return api.Status{}, fmt.Errorf("team %s never came up; covey up starts it", place.Team)
	}
	if err != nil {
		return api.Status{}, err
	}
	// A run that only merged may have put the record of the last full run aside; that one
	// is what people ask for.
	file = file.LastRun()
	run, err := view.ReadLastRun(place)
	if err != nil {
		return api.Status{}, err
	}
	s := api.Status{
		Team: place.Team, Goal: file.Goal, Workspace: file.Workspace, Spec: file.Spec,
		Started: file.Started, FailOpen: run.Hooks().FailedOpen(), Result: file.Result, Turns: run.StaffedRun().Turns,
	}
	if file.Result != nil {
		s.Budget = file.Result.Budget
		s.Elapsed = max(0, file.Result.Ended.Sub(file.Started)).Round(time.Millisecond)
	}
	store, err := cli.OpenStore(place)
	if err != nil {
		return s, err
	}
	defer store.Close()
	snapshot, err := store.Snapshot(ctx)
	if err == nil {
		s.Schedules, err = specs.StoredSchedules(ctx, store)
	}
	var held []string
	if err == nil {
		held, err = lives.HeldIn(ctx, store)
	}
	if err != nil {
		return s, err
	}
	// Tasks and mail are from one snapshot of the store, so their numbers agree.
	all := tasks.Outlines(snapshot.Tasks)
	s.Tasks = api.CountTasks(all)
	owned := api.OwnedTasks(all)
	for _, m := range run.Statuses() {
		m.Unread = snapshot.Unread[m.Name]
		if slices.Contains(held, m.Name) {
			m.Held, m.State, m.WaitsFor = true, api.Held, "covey resume "+m.Name
		}
		m.SetTask(owned[m.Name], all)
		s.Members = append(s.Members, m)
	}
	return s, nil
}
