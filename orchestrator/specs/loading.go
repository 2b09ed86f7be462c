// Package specs tracks what a team works for: the lead's goal, the tasks and messages
// that a spec and its schedules add to the store, what a new version of the spec changes,
// and whether a run has a result. A team in effect is its spec with the members that were
// added from Templates (Grow). Its Timetable runs the schedules: it makes their tasks
// and sends their messages when they are due.
//
// The package makes no promise of compatibility to programs outside covey.
package specs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// keyLoaded is the store key of Loaded.
const keyLoaded = "spec"

// Loaded maps the ids of tasks in specs to their ids in the store.
type Loaded map[string]string

// ReadLoaded reads which tasks of specs a store contains.
func ReadLoaded(ctx context.Context, s *tasks.Store) (Loaded, error) {
	loaded := Loaded{}
	err := tasks.ReadValue(ctx, s, keyLoaded, &loaded)
	return loaded, err
}

// New returns the tasks of a spec that no run has loaded yet.
func (loaded Loaded) New(team *configs.Team) []tasks.New {
	var list []tasks.New
	for _, t := range team.Tasks {
		if _, ok := loaded[t.ID]; ok {
			continue
		}
		n := tasks.New{
			Key: specKey(t.ID), Subject: t.Subject, Description: t.Description, Owner: t.Owner, Labels: t.Labels,
			Wants: tasks.Wants{Tools: t.WantsTools, Labels: t.WantsLabels, Role: t.WantsRole},
		}
		for _, by := range t.BlockedBy {
			if id, ok := loaded[by]; ok {
				n.BlockedBy = append(n.BlockedBy, id)
			} else {
				n.BlockedBy = append(n.BlockedBy, specKey(by))
			}
		}
		list = append(list, n)
	}
	return list
}

// specKey returns the key of a spec's task in the list to add. It is not a number,
// because task 2 of the spec is rarely task 2 of the store.
func specKey(id string) string { return "spec:" + id }

// News is what a spec adds to the store.
type News struct {
	Loaded Loaded // the tasks of earlier specs
	Goal   *Goal  // nil: the lead keeps its goal
	Values map[string]json.RawMessage
}

// Load stores what is new in a spec in one transaction: the goal as mail to the lead, the
// tasks in file order, and that they were loaded. It fires no TaskCreated hook, because
// the author of the spec wrote the tasks.
func (n News) Load(ctx context.Context, store *tasks.Store, team *configs.Team) error {
	list, err := n.tasks(ctx, store, team)
	if err != nil {
		return err
	}
	l := tasks.Loading{Tasks: list, From: actors.Operator}
	if n.Goal != nil && strings.TrimSpace(n.Goal.Given) != "" {
		l.Mail = []mail.Outgoing{{
			To: []string{team.Lead.Name}, Kind: mail.Goal, Text: n.Goal.Given, Summary: mail.Summary(n.Goal.Given),
		}}
	}
	l.Values = func(ids []string) map[string]json.RawMessage {
		values := maps.Clone(n.Values)
		if n.Goal != nil {
			values[GoalKey] = n.Goal.Value()
		}
		loaded := maps.Clone(n.Loaded)
		for i, id := range ids {
			loaded[strings.TrimPrefix(list[i].Key, specKey(""))] = id
		}
		values[keyLoaded] = texts.Encode(loaded)
		return values
	}
	_, err = store.Load(ctx, l)
	return err
}

// tasks returns the new tasks. They do not depend on loaded tasks that were deleted
// since.
func (n News) tasks(ctx context.Context, s *tasks.Store, team *configs.Team) ([]tasks.New, error) {
	list := n.Loaded.New(team)
	if len(list) == 0 {
		return nil, nil
	}
	there, err := s.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("dependencies of new tasks: %w", err)
	}
	var gone []string
	for _, id := range n.Loaded {
		if !slices.ContainsFunc(there, func(t tasks.Task) bool { return t.ID == id }) {
			gone = append(gone, id)
		}
	}
	for i, added := range list {
		list[i].BlockedBy = slices.DeleteFunc(added.BlockedBy,
			func(id string) bool { return slices.Contains(gone, id) })
	}
	return list, nil
}

// AddPreview adds to a change the tasks and the goal that a spec adds to a store, and
// returns the lead's goal after it. given is the goal of the command line.
func AddPreview(
	ctx context.Context, s *tasks.Store, team *configs.Team, given string, change *events.SpecChanged,
) (Goal, error) {
	loaded, err := ReadLoaded(ctx, s)
	if err != nil {
		return Goal{}, err
	}
	goal, err := ReadGoal(ctx, s)
	if err != nil {
		return goal, err
	}
	for _, n := range loaded.New(team) {
		change.Tasks = append(change.Tasks, n.Subject)
	}
	next := goal.Next(given, team.Goal)
	if next.No != goal.No {
		change.Goal = next.Given
	}
	return next, nil
}

// Preview returns what a team that does not run would begin with. It starts and writes
// nothing. goal is Options.Goal; fresh ignores the earlier run.
func Preview(ctx context.Context, team *configs.Team, goal string, fresh bool) (events.SpecChanged, error) {
	change := events.SpecChanged{Team: team.Name, Members: []events.MemberChange{}, Tasks: []string{}, Settings: []string{}, Gated: len(team.Gates["TaskCompleted"]) > 0}
	team, loaded, was, err := readEarlier(ctx, team, fresh)
	if err != nil {
		return change, fmt.Errorf("read the earlier run: %w", err)
	}
	change.Resumed = was != nil
	for _, m := range team.Members() {
		change.Members = append(change.Members, events.MemberChange{
			Name: m.Name, Change: events.MemberStarts, Agent: members.AgentTitle(m.Agent),
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

// readEarlier reads what an earlier run has left: the members that its lead had added to the team,
// which tasks of the spec it has loaded, and its goal; nil: there was no earlier run.
func readEarlier(ctx context.Context, team *configs.Team, fresh bool) (*configs.Team, Loaded, *Goal, error) {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil || fresh {
		return team, nil, nil, err
	}
	if _, err := os.Stat(place.Store()); errors.Is(err, fs.ErrNotExist) {
		return team, nil, nil, nil
	}
	store, err := place.OpenStore()
	if err != nil {
		return team, nil, nil, err
	}
	defer store.Close()
	added, missing := ReadSpawned(ctx, store)
	loaded, unread := ReadLoaded(ctx, store)
	goal, err := ReadGoal(ctx, store)
	return Grow(team, added), loaded, &goal, errors.Join(missing, unread, err)
}
