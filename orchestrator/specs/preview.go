// Package specs tracks what a team works for: the lead's goal, the tasks and messages
// that a spec and its schedules add to the store, what a new version of the spec changes,
// and whether a run has a result. Its Timetable runs the schedules: it makes their tasks
// and sends their messages when they are due.
//
// The package makes no promise of compatibility to programs outside covey.
package specs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Preview returns what a team that does not run would begin with. It starts and writes
// nothing. goal is Options.Goal; fresh ignores the earlier run.
func Preview(ctx context.Context, team *configs.Team, goal string, fresh bool) (events.SpecChanged, error) {
	change := events.SpecChanged{Team: team.Name, Members: []events.MemberChange{}, Tasks: []string{}, Settings: []string{}}
	loaded, was, err := readEarlier(ctx, team, fresh)
	if err != nil {
		return change, fmt.Errorf("read the earlier run: %w", err)
	}
	change.Resumed = was != nil
	for _, m := range team.Members() {
		change.Members = append(change.Members, events.MemberChange{
			Name: m.Name, Change: events.MemberStarts, Agent: lives.AgentTitle(m.Agent),
		})
	}
	for _, n := range loaded.New(team) {
		change.Tasks = append(change.Tasks, n.Subject)
	}
	if was == nil {
		was = &Goal{}
	}
	if next := was.Next(goal, team.Goal); next.Given != was.Given {
		change.Goal = next.Given
	}
	return change, nil
}

// readEarlier reads which tasks of the spec an earlier run has loaded, and its goal; nil:
// there was no earlier run.
func readEarlier(ctx context.Context, team *configs.Team, fresh bool) (Loaded, *Goal, error) {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil || fresh {
		return nil, nil, err
	}
	if _, err := os.Stat(place.Store()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	store, err := place.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	defer store.Close()
	loaded, err := ReadLoaded(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	goal, err := ReadGoal(ctx, store)
	return loaded, &goal, err
}
