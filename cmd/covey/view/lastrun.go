package view

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
)

// lastRun is what the journal says about a team's last run, to show it when there is
// no process to ask.
type lastRun struct {
	Members []*api.MemberStatus        // in the order in which they appear
	Hooks   map[string]*hooklist.Tally // by member
	merges  hooklist.Tally             // gates at merges
	done    budget.Tally
	Turns   journal.TurnCount
}

// ReadLastRun reads the last run of a team from its journal. It is empty for a team
// without a journal. Earlier runs are not read, because a journal may be long.
func ReadLastRun(place state.Place) (*lastRun, error) {
	run := &lastRun{Hooks: map[string]*hooklist.Tally{}}
	begin, err := lastStart(place)
	if errors.Is(err, fs.ErrNotExist) {
		return run, nil
	}
	if err != nil {
		return nil, err
	}
	for l, err := range journal.Read(place.Journal(), begin) {
		var damaged *journal.LineError
		switch {
		case err == nil:
			run.apply(l)
		case !errors.As(err, &damaged):
			return nil, err
		}
	}
	for _, m := range run.Members {
		m.Counts = run.done.Of(m.Name).Counts
		run.Turns = m.AddTo(run.Turns)
	}
	return run, nil
}

// lastStart returns the number of the line before the last start of a team in whose run a
// member began: a run that finds nothing new has no members to show. Without such a run it
// is the last start; 0 if there is none. It reads backwards, so earlier runs cost nothing.
// It skips damaged lines.
func lastStart(place state.Place) (uint64, error) {
	last, began := uint64(0), false
	for l, err := range journal.Backwards(place.Journal(), 0) {
		if err != nil {
			return 0, err
		}
		began = began || l.Type == "member_started"
		if l.Type != "team_started" || data(l).Merge != "" {
			continue
		}
		if began {
			return l.Seq - 1, nil
		}
		last = max(last, l.Seq-1)
	}
	return last, nil
}

// apply handles the next line. Another turn ends the need for attention.
func (r *lastRun) apply(l journal.Line) {
	p := data(l)
	for _, name := range p.Members {
		r.member(name)
	}
	if l.Type == "team_ended" && p.Merge == "" && p.ExitCode != nil && *p.ExitCode == 0 {
		r.clearAttention()
	}
	r.done.Read(l)
	m := r.find(l.Member)
	if m == nil {
		if l.Member == "" && l.Type == "hook_finished" { // gates at a merge belong to no member
			end := hookEnd(l)
			end.Event = hooklist.AtMerge
			r.merges.Add(end)
		}
		return
	}
	m.Turn = max(m.Turn, l.Turn)
	switch l.Type {
	case "member_started":
		m.Agent, m.State = p.Agent, api.Resting
	case "needs_attention":
		m.Attention = p.Reason
		if p.Kind != "login" {
			m.State = api.NeedsAttention
		}
	case "limited":
		m.State, m.LimitedUntil = api.Limited, p.Until
	case "logged_out":
		m.State = api.LoggedOut
	case "turn_started":
		m.State, m.Attention, m.LimitedUntil = api.Resting, "", time.Time{}
	case "hook_finished":
		if r.Hooks[m.Name] == nil {
			r.Hooks[m.Name] = &hooklist.Tally{}
		}
		r.Hooks[m.Name].Add(hookEnd(l))
	}
}

// clearAttention handles that the team was done: the reasons for attention were
// resolved in another way, for example because the operator completed the task.
func (r *lastRun) clearAttention() {
	for _, m := range r.Members {
		m.Attention = ""
		if m.State == api.NeedsAttention {
			m.State = api.Resting
		}
	}
}

// HooksOfAll counts the hooks of all members and the gates at merges together.
func (r *lastRun) HooksOfAll() *hooklist.Tally {
	var all hooklist.Tally
	for _, m := range r.Members { // in an order that stays the same
		if tally := r.Hooks[m.Name]; tally != nil {
			all.Join(tally)
		}
	}
	all.Join(&r.merges)
	return &all
}

// member returns a member, and adds it if it is new.
func (r *lastRun) member(name string) *api.MemberStatus {
	if m := r.find(name); m != nil {
		return m
	}
	m := &api.MemberStatus{Name: name, Lead: len(r.Members) == 0, State: api.Starting}
	r.Members = append(r.Members, m)
	return m
}

// find returns a member; nil for other senders, such as the operator, who are in the
// journal as members are.
func (r *lastRun) find(name string) *api.MemberStatus {
	i := slices.IndexFunc(r.Members, func(m *api.MemberStatus) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return r.Members[i]
}
