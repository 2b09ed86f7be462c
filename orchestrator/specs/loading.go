package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// keyLoaded is the key of the store for Loaded.
const keyLoaded = "spec"

// Loaded are the tasks of specs that stand in a store: the id in the spec to that in the
// store.
type Loaded map[string]string

// ReadLoaded reads which tasks a store has taken from specs.
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

// specKey is the key of a task of the spec in the list that is added. It is no
// number, because a task that the spec calls 2 is rarely the store's task 2.
func specKey(id string) string { return "spec:" + id }

// News is what is new in a spec, or goes into the store with it.
type News struct {
	Loaded Loaded // the tasks of earlier specs
	Goal   *Goal  // nil: the lead's goal is the one that it has
	Values map[string]json.RawMessage
}

// Load stores what is new in a spec, all of it or nothing: the goal as mail to the lead,
// tasks in file order, and that this was loaded. They are the words of whoever wrote the
// spec, so no TaskCreated hook is asked.
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
		values[keyLoaded] = notation.Encode(loaded)
		return values
	}
	_, err = store.Load(ctx, l)
	return err
}

// tasks returns the new tasks. They do not wait for tasks that were loaded once and have
// been deleted since.
func (n News) tasks(ctx context.Context, s *tasks.Store, team *configs.Team) ([]tasks.New, error) {
	list := n.Loaded.New(team)
	if len(list) == 0 {
		return nil, nil
	}
	there, err := s.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("what new tasks may wait for: %w", err)
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

// Foresee adds to a change the tasks and the goal that a spec brings into a store, and
// returns the goal that the lead has then. given is the goal of the command line.
func Foresee(
	ctx context.Context, s *tasks.Store, team *configs.Team, given string, change *api.SpecChange,
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
