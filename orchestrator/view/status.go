package view

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hookinfo"
)

// Statuses returns the members of the last run that had any, as `covey ps` shows those of a
// team that does not run. What only the store or a running team knows is left out.
func (s *State) Statuses() []api.MemberStatus {
	var list []api.MemberStatus
	for _, m := range s.Staff().Members {
		if m.Left {
			continue
		}
		status := m.status()
		status.State, status.Doing, status.Pass = m.Stopped(), "", 0
		if m.Lockout != nil && m.Lockout.Kind == (events.Limited{}).Type() {
			status.LimitedUntil = m.Lockout.Until
		}
		list = append(list, status)
	}
	return list
}

// status returns the member as `covey ps` shows it, without what only the store or a running team
// knows.
func (m *Member) status() api.MemberStatus {
	status := api.MemberStatus{
		Name: m.Name, Lead: m.Lead, Agent: m.Agent, State: m.State, Turn: m.Turn, Pass: m.Pass, Attention: m.Attention,
		Counts: m.Done.Counts, FailedOpen: m.Hooks.FailedOpen(), Hooks: m.Hooks.Noteworthy(),
	}
	if m.InTurn || m.State == api.Starting {
		status.Doing = m.Doing
	}
	return status
}

// Hooks counts the hooks of all members and the gates at merges together, in the last run that
// had members.
func (s *State) Hooks() *hookinfo.Tally {
	var all hookinfo.Tally
	staff := s.Staff()
	for _, m := range staff.Members {
		all.Join(&m.Hooks)
	}
	all.Join(&staff.MergeHooks)
	return &all
}
