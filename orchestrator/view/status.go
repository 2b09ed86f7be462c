package view

import (
	"cmp"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
)

// decide returns what the member does, and what it waits for. Nothing else does. The order is that of
// importance for people: a hold does not end by itself, so it is shown before a lockout, and a lockout
// before what its end may solve.
func (m *Member) decide() (state api.MemberState, waitsFor string) {
	inTurn, retry, run := m.inTurnWait(), m.wait(events.ForRetry), m.wait(events.ForRun)
	switch {
	case m.Stage == Over:
		return api.Ended, ""
	case m.Stage == Begins:
		return api.Starting, inTurn
	case m.wait(events.ForSlot) != "", m.Stage == InWork && inTurn != "":
		return api.Waiting, inTurn
	case m.Stage == InWork:
		return api.Working, m.HeldUp
	case m.Held != nil:
		return api.Held, "covey resume " + m.Name
	case retry != "":
		return api.Waiting, cmp.Or(m.Awaits, retry)
	case m.wait(events.ForLogin) != "":
		return api.LoggedOut, m.Awaits
	case m.wait(events.ForLimit) != "":
		return api.Limited, m.Awaits
	case m.Attention != "":
		return api.NeedsAttention, m.Awaits
	case run != "":
		return api.Waiting, cmp.Or(m.Awaits, run)
	}
	return api.Resting, cmp.Or(m.Awaits, m.wait(events.ForHook))
}

// inTurnWait returns what the member waits for within its turn or before it; empty: for nothing.
func (m *Member) inTurnWait() string {
	return cmp.Or(m.wait(events.ForSlot), m.wait(events.ForAnswer), m.wait(events.ForGates))
}

// wait returns what the member waits for of a kind; empty: for nothing.
func (m *Member) wait(kind events.WaitKind) string {
	if len(m.Waits) == 0 { // of most members at most times
		return ""
	}
	return m.Waits[kind].For
}

// settle decides State and WaitsFor again, because something has changed.
func (m *Member) settle(at time.Time) {
	state, waitsFor := m.decide()
	if m.State != state || m.Since.IsZero() {
		m.State, m.Since = state, at
	}
	m.WaitsFor = waitsFor
}

// Stopped returns the state of the member once its team does not run any more. It does not
// depend on Held, because a hold may end while no journal is written.
func (m *Member) Stopped() api.MemberState {
	if m.Gone != "" || m.Left {
		return api.Ended
	}
	free := *m
	free.Stage, free.Held = Idles, nil
	state, _ := free.decide()
	if state == api.Waiting && m.wait(events.ForRetry) == "" { // what it waits for ends with the run
		return api.Resting
	}
	return state
}

// Ending returns the state in which a run leaves the member at a time, and for people why it could not
// go on; empty: it could, or it has left the team.
func (m *Member) Ending(at time.Time) (state api.MemberState, reason string) {
	out := cmp.Or(m.Lockout, &Lockout{})
	switch state = m.Stopped(); state {
	case api.Ended:
		return state, m.Gone
	case api.Waiting:
		return state, "its last turn failed and was to be tried again: " + cmp.Or(out.Text, m.wait(events.ForRetry))
	case api.LoggedOut:
		return state, events.LoggedOut{Agent: out.Agent, Hint: out.Text, Fix: out.Fix, Key: out.Key}.Summary("`covey up`")
	case api.Limited:
		if m.Lockout == nil { // another member has met the limit, and has the reason
			return state, ""
		}
		return state, events.Limited{Agent: out.Agent, Until: out.Until, Known: out.Known}.Summary(at)
	case api.NeedsAttention:
		return state, m.Attention
	}
	return state, ""
}

// WaitText returns what the member waits for, with the time of the next try of a turn that has failed.
func (m *Member) WaitText() string {
	retry := m.Waits[events.ForRetry]
	if m.WaitsFor != "" && m.WaitsFor == retry.For {
		return retry.Until.Local().Format(time.TimeOnly) + ": " + retry.For
	}
	return m.WaitsFor
}

// waitsOnOthers reports whether others decide when the member goes on, so that its silence is no sign of
// trouble.
func (m *Member) waitsOnOthers() bool {
	return m.Awaits != "" || m.inTurnWait() != ""
}

// Statuses returns the members of the last run that had any, as `covey ps` shows those of a
// team that does not run. What only the store or a running team knows is left out.
func (s *State) Statuses() []api.MemberStatus {
	var list []api.MemberStatus
	for _, m := range s.Staff().Members {
		if m.Left {
			continue
		}
		status := m.Status()
		status.State, status.Doing, status.Pass, status.Held = m.Stopped(), "", 0, false
		status.WaitsFor = m.wait(events.ForRetry)
		if status.LimitedUntil = (time.Time{}); status.State == api.Limited {
			status.LimitedUntil = m.Waits[events.ForLimit].Until
		}
		list = append(list, status)
	}
	return list
}

// Status returns the member as `covey ps` shows it, without what only the store or a running team
// knows.
func (m *Member) Status() api.MemberStatus {
	status := api.MemberStatus{
		Name: m.Name, Lead: m.Lead, Agent: m.Agent, Node: m.Node, State: m.State, Turn: m.Turn, Pass: m.Pass, WaitsFor: m.WaitText(),
		Attention: cmp.Or(m.Gone, m.Attention), Held: m.Held != nil,
		Limits: m.Limits, CostUSD: m.Spent.CostUSD, Counts: m.Done.Counts, FailedOpen: m.Hooks.FailedOpen(), Hooks: m.Hooks.Noteworthy(),
	}
	if m.Box != nil {
		status.Box, status.BoxLost, status.Denied = m.Box.Word(), m.Box.Lost, m.Box.Denied
	}
	if m.InTurn || m.State == api.Starting {
		status.Doing = m.Doing
	}
	if m.State == api.Limited {
		status.LimitedUntil = m.Waits[events.ForLimit].Until
	}
	return status
}

// NodeStatus returns the nodes as `covey nodes` shows them, by name.
func (s *State) NodeStatus() (list []api.NodeStatus) {
	for _, n := range s.Nodes {
		status := api.NodeStatus{NodeChanged: n.NodeChanged, Since: n.Since}
		for _, m := range s.Members {
			if m.Node == n.Node && !m.Left && n.State != "lost" && n.State != "left" {
				status.Members = append(status.Members, m.Name)
			}
		}
		status.Free = max(0, n.Places-len(status.Members))
		list = append(list, status)
	}
	return list
}

// Hooks counts the hooks of all members and the gates at merges together, in the last run that
// had members.
func (s *State) Hooks() *accounts.HookTally {
	var all accounts.HookTally
	staff := s.Staff()
	for _, m := range staff.Members {
		all.Join(&m.Hooks)
	}
	all.Join(&staff.MergeHooks)
	return &all
}
