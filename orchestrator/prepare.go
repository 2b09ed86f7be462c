package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/goals"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/backup"
	"github.com/coveyteam/covey/tasks/mail"
)

// Keys of the store under which a run leaves what the next one must know.
const (
	keySpec  = "spec"  // map: id of a task in the spec -> its id in the store
	keyEnded = "ended" // endRecord of a run that came to rest with all done; null while one runs
)

// endRecord is how a run came to rest.
type endRecord struct {
	Reason string `json:"reason"`
	Answer string `json:"answer"`
}

// earlier is what a run finds when it starts.
type earlier struct {
	resumed bool   // there was a run before
	done    bool   // it was done, and nothing is new since
	answer  string // the lead's last answer then
	goal    string // what the lead works for
}

// prepare puts what is new in the spec into the store: the goal, and tasks.
// Doing it again after a crash adds nothing twice.
func (o *Orchestrator) prepare(ctx context.Context, c *crew) (earlier, error) {
	var e earlier
	known, err := c.store.Members().List(ctx)
	if err != nil {
		return e, err
	}
	e.resumed = len(known) > 0
	var ended *endRecord
	if err := tasks.ReadValue(ctx, c.store, keyEnded, &ended); err != nil {
		return e, err
	}
	goal, err := goals.Read(ctx, c.store)
	if err != nil {
		return e, err
	}
	loaded := map[string]string{}
	if err := tasks.ReadValue(ctx, c.store, keySpec, &loaded); err != nil {
		return e, err
	}
	if o.only.merge != nil { // nobody takes a turn, so what is new in the spec waits
		e.goal = goal.Given
		return e, nil
	}
	next := goal.Next(o.opts.Goal, o.team().Goal)
	e.goal = next.Given
	newGoal := next.Given != goal.Given
	fresh := slices.ContainsFunc(o.memberNames(), func(name string) bool {
		return !slices.ContainsFunc(known, func(m actors.Member) bool { return m.Name == name })
	})
	nothingNew := !newGoal && !fresh && len(newTasks(o.team(), loaded)) == 0 && len(o.team().Schedules) == 0
	if ended != nil && nothingNew && atPeace(ctx, c.store, known) && !merging.Owed(ctx, c.store) {
		e.done, e.answer = true, ended.Answer
		return e, nil
	}
	// In the same change: a run that is cut off afterwards must not be taken for one
	// that was done.
	n := novelty{loaded: loaded, values: map[string]json.RawMessage{keyEnded: json.RawMessage("null")}}
	if newGoal {
		n.goal = &next
	}
	return e, o.bringIn(ctx, c, n)
}

// atPeace reports whether nothing has come in since the team ended.
func atPeace(ctx context.Context, s *tasks.Store, members []actors.Member) bool {
	all, err := s.List(ctx)
	if err != nil || len(tasks.OpenTasks(all)) > 0 {
		return false
	}
	return !slices.ContainsFunc(members, func(m actors.Member) bool {
		mail, err := s.Mail().Unread(ctx, m.Name)
		return err != nil || len(mail) > 0
	})
}

// newTasks are the spec's tasks that no run has loaded yet.
func newTasks(team *configs.Team, loaded map[string]string) []tasks.New {
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

// novelty is what is new in a spec, or goes into the store with it.
type novelty struct {
	loaded map[string]string // the tasks of earlier specs: id in the spec to id in the store
	goal   *goals.Record     // nil: the lead's goal is the one that it has
	values map[string]json.RawMessage
}

// bringIn stores what is new in the spec, all of it or nothing: the goal as mail to the lead,
// tasks in file order, and that this was loaded. They are the words of whoever wrote the
// spec, so no TaskCreated hook is asked.
func (o *Orchestrator) bringIn(ctx context.Context, c *crew, n novelty) error {
	list, err := n.tasks(ctx, c.store, o.team())
	if err != nil {
		return err
	}
	l := tasks.Loading{Tasks: list, From: actors.Operator}
	if n.goal != nil && strings.TrimSpace(n.goal.Given) != "" {
		l.Mail = []mail.Outgoing{{
			To: []string{o.team().Lead.Name}, Kind: mail.Goal, Text: n.goal.Given, Summary: mail.Summary(n.goal.Given),
		}}
	}
	l.Values = func(ids []string) map[string]json.RawMessage {
		values := maps.Clone(n.values)
		if n.goal != nil {
			values[goals.Key] = n.goal.Value()
		}
		loaded := maps.Clone(n.loaded)
		for i, id := range ids {
			loaded[strings.TrimPrefix(list[i].Key, specKey(""))] = id
		}
		values[keySpec] = rawjson.Encode(loaded)
		return values
	}
	_, err = c.store.Load(ctx, l)
	return err
}

// tasks are the new ones. Those that were loaded once and deleted since hold up nobody.
func (n novelty) tasks(ctx context.Context, s *tasks.Store, team *configs.Team) ([]tasks.New, error) {
	list := newTasks(team, n.loaded)
	if len(list) == 0 {
		return nil, nil
	}
	there, err := s.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("what new tasks may wait for: %w", err)
	}
	var gone []string
	for _, id := range n.loaded {
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

// forget removes what earlier runs left. The lock is held, and stays.
func forget(p state.Place) error {
	// The journal goes before the store: a new store counts its events from 1, and
	// a journal that was left would say that those have their lines.
	for _, path := range []string{p.Journal(), p.RunFile()} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	// With its backups: one of them must never take the place of a new store.
	if err := backup.RemoveFiles(p.Store(), p.Blobs()); err != nil {
		return err
	}
	for _, dir := range []string{p.Transcripts(), p.Scratch(), p.Mail(), p.GateSettings()} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return p.Create()
}
