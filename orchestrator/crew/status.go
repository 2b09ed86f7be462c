package crew

import (
	"cmp"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// State returns what the member does now.
//
// The order of the cases is that of importance for people. A member between two tries of a
// failed turn waits, although it is locked out. A hold is shown before a lockout, because
// it does not end by itself.
func (s *Seat) State(now members.State) api.MemberState {
	login := s.crew.deps.Logins.State(s.Member.Name)
	locked := login.Lockout
	switch {
	case now.Gone != "":
		return api.Ended
	case !now.Begun:
		return api.Starting
	case !now.Idle && s.midTurnWait() != "":
		return api.Waiting
	case !now.Idle:
		return api.Working
	case now.Idle && s.waitsToRetry(s.crew.deps.Clock.Now()):
		return api.Waiting
	case s.held():
		return api.Held
	case locked != nil && locked.LoggedOut:
		return api.LoggedOut
	case locked != nil && !locked.Failed && !locked.Until.IsZero(), !login.Lent.IsZero():
		return api.Limited
	case s.crew.deps.Asks.Attention.Of(s.Member.Name) != "":
		return api.NeedsAttention
	case s.AwaitedRun() != "":
		return api.Waiting
	}
	return api.Resting
}

// midTurnWait returns what the member waits for within its turn, or before its session; empty: for
// nothing.
func (s *Seat) midTurnWait() string {
	name, p := s.Member.Name, s.crew.deps
	return cmp.Or(p.Logins.State(name).Waits, p.Asks.MidTurnWait(name), p.Slots.Waits(name))
}

// Status returns the member as `covey ps` shows it. own are the indexes in
// all of the tasks that it owns, completed ones too.
func (s *Seat) Status(own []int, all []tasks.Outline) api.MemberStatus {
	login, life := s.crew.deps.Logins.State(s.Member.Name), s.Life.State()
	m := s.crew.deps.State.Status(s.Member.Name)
	m.Lead, m.Agent = s.Member.Lead, members.AgentTitle(s.Member.CurrentAgent())
	m.State, m.Attention = s.State(life), cmp.Or(life.Gone, s.crew.deps.Asks.Attention.Of(s.Member.Name))
	m.SetTask(own, all)
	// The first pending task of its own that is blocked is what it waits for, unless
	// something below says more.
	for _, i := range own {
		t := &all[i]
		if t.Status != tasks.Pending || m.WaitsFor != "" {
			continue
		}
		if by := t.OpenBlockers(all); len(by) > 0 {
			m.WaitsFor = tasks.Named(by...)
		}
	}
	if m.State != api.Resting {
		m.WaitsFor = s.midTurnWait()
	}
	if now := s.crew.deps.Clock.Now(); login.Lockout != nil && life.Idle && s.waitsToRetry(now) {
		m.WaitsFor = login.Lockout.RetryText(now)
	}
	if awaits := s.crew.deps.Asks.Awaits(s.Member.Name); life.Idle && life.Gone == "" && awaits != "" {
		m.WaitsFor = awaits
	}
	if m.State == api.Held {
		m.WaitsFor = "covey resume " + s.Member.Name
	}
	m.Held = s.held()
	m.Limits, m.CostUSD = s.crew.deps.Ledger.ReportOf(s.Member.Name)
	var wakes bool
	m.Background, wakes = s.crew.deps.Hooks.Commands(s.Member.Name)
	if m.State == api.Resting && m.WaitsFor == "" && wakes {
		m.WaitsFor = "hook " + m.Background[0]
	}
	if m.State == api.Waiting && m.WaitsFor == "" {
		m.WaitsFor = s.AwaitedRun()
	}
	if m.State == api.Limited {
		m.LimitedUntil = login.Lent
		if login.Lockout != nil {
			m.LimitedUntil = login.Lockout.Until
		}
	}
	return m
}
