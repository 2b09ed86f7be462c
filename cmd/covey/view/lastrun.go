package view

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
)

// lastRun is what the journal tells of a team's last run: enough to show it
// when there is no process to ask.
type lastRun struct {
	Members []*api.MemberStatus        // in the order in which they appear
	Hooks   map[string]*hooklist.Tally // by member
	merges  hooklist.Tally             // gates at merges
	Turns   journal.TurnCount
}

// ReadLastRun reads the last run of a team from its journal. A team without a
// journal has an empty one. Only the last run is read, from where it begins,
// since a journal holds all runs of a team and may be long.
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
	return run, nil
}

// lastStart is the number of the line before the last start of a team; 0 if
// there is none. The journal is read backwards, so the runs before the last one
// cost nothing. Damaged lines are passed over; an error is that of the file.
func lastStart(place state.Place) (uint64, error) {
	for l, err := range journal.Backwards(place.Journal(), 0) {
		if err != nil {
			return 0, err
		}
		if l.Type == "team_started" && data(l).Merge == "" {
			return l.Seq - 1, nil
		}
	}
	return 0, nil
}

// apply takes the next line in. A member that needed attention and then took
// another turn was helped on.
func (r *lastRun) apply(l journal.Line) {
	p := data(l)
	for _, name := range p.Members {
		r.member(name)
	}
	if l.Type == "team_ended" && p.Merge == "" && p.ExitCode != nil && *p.ExitCode == 0 {
		r.solved()
	}
	m := r.known(l.Member)
	if m == nil {
		if l.Member == "" && l.Type == "hook_finished" { // gates at a merge are no member's
			end := hookEnd(l)
			end.Event = hooklist.AtMerge
			r.merges.Add(end)
		}
		return
	}
	m.Turn = max(m.Turn, l.Turn)
	r.count(l, m, p)
	switch l.Type {
	case "member_started":
		m.Agent, m.State = p.Agent, api.Resting
	case "turn_ended":
		m.Tokens += p.Usage.InputTokens + p.Usage.OutputTokens
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
	case "hook_feedback":
		m.Refusals++
	case "hook_finished":
		if r.Hooks[m.Name] == nil {
			r.Hooks[m.Name] = &hooklist.Tally{}
		}
		r.Hooks[m.Name].Add(hookEnd(l))
	}
}

// solved takes in that the team was done: what a member needed attention for came to an end
// in another way, for example because a person completed its task.
func (r *lastRun) solved() {
	for _, m := range r.Members {
		m.Attention = ""
		if m.State == api.NeedsAttention {
			m.State = api.Resting
		}
	}
}

// count takes in what a line says of turns and what they came to.
func (r *lastRun) count(l journal.Line, m *api.MemberStatus, p payload) {
	switch {
	case l.Type == "turn_started" && l.Helper == "":
		m.Turns++
		r.Turns = r.Turns.Of(1, 0, 0)
	case l.Type == "turn_ended" && p.Empty && l.Helper == "":
		m.Empty++
		r.Turns = r.Turns.Of(0, 1, 0)
	case l.Type == "task" && p.Op == "completed":
		r.Turns = r.Turns.Of(0, 0, 1)
	}
}

// HooksOfAll counts the hooks of all members, and the gates at merges, together.
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

// member is a member, made when it is first heard of.
func (r *lastRun) member(name string) *api.MemberStatus {
	if m := r.known(name); m != nil {
		return m
	}
	m := &api.MemberStatus{Name: name, Lead: len(r.Members) == 0, State: api.Starting}
	r.Members = append(r.Members, m)
	return m
}

// known is a member that was heard of; nil for whoever is none. Senders of
// messages that are no members, such as a person, stand in the journal as
// members do.
func (r *lastRun) known(name string) *api.MemberStatus {
	i := slices.IndexFunc(r.Members, func(m *api.MemberStatus) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return r.Members[i]
}
