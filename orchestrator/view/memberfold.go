package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
)

// memberFold is the part of a fold that handles members outside of the course of their turns.
type memberFold struct{ *State }

// newMember returns a member of which only the name is known.
func newMember(name string) *Member { return &Member{Name: name, State: api.Starting} }

// enter sets the state of the member, and since when.
func (m *Member) enter(state api.MemberState, at time.Time) {
	if m.State != state || m.Since.IsZero() {
		m.State, m.Since = state, at
	}
	m.Gate = ""
}

// rest returns the state of the member between turns, in the order in which `covey ps` of a
// running team decides it.
func (m *Member) rest() api.MemberState {
	kind := ""
	if m.Lockout != nil {
		kind = m.Lockout.Kind
	}
	switch {
	case kind == events.TurnFailed{}.Type():
		return api.Waiting
	case m.Held != nil:
		return api.Held
	case kind == events.LoggedOut{}.Type(), m.AttentionKind == "login":
		return api.LoggedOut
	case kind == events.Limited{}.Type():
		return api.Limited
	case m.Attention != "":
		return api.NeedsAttention
	}
	return api.Resting
}

// Stopped returns the state of the member once its team does not run any more. It does not
// depend on Held, because a hold may end while no journal is written.
func (m *Member) Stopped() api.MemberState {
	free := *m
	free.Held = nil
	if state := free.rest(); state != api.Waiting { // the next run tries again
		return state
	}
	return api.Resting
}

// idles sets the state between turns, unless the member is in a turn, has ended, or has not
// begun and is well.
func (m *Member) idles(at time.Time) {
	state := m.rest()
	if !m.InTurn && m.State != api.Ended && (m.State != api.Starting || state != api.Resting) {
		m.enter(state, at)
	}
}

// clearAttention handles that the member needs nobody any more.
func (m *Member) clearAttention(at time.Time) {
	m.Attention, m.AttentionKind, m.AttentionSince = "", "", time.Time{}
	m.idles(at)
}

// says keeps a text of the member.
func (m *Member) says(l events.Event, text string) {
	if text = cut(text); text != "" {
		m.Texts = newest(append(m.Texts, Note{Seq: l.Seq, Time: l.Time, Text: text}), maxTexts)
	}
}

// busyWith returns what a member in a turn does if nothing else is known: the first call
// without a result, because the calls of a pass run in order.
func (m *Member) busyWith() string {
	if len(m.Calls) > 0 {
		return m.Calls[0].Text
	}
	return "thinking"
}

// works notes that a member does something in its turn. While a request of it is open it
// still waits.
func (m *Member) works(doing string, at time.Time) {
	m.Doing = doing
	m.workOrWait(at)
}

// workOrWait sets the state of a member in its turn.
func (m *Member) workOrWait(at time.Time) {
	state := api.Working
	if m.WaitsFor = m.Asks; m.Asks != "" {
		state = api.Waiting
	}
	m.enter(state, at)
}

// incident keeps what happened to the member's agent.
func (m *Member) incident(l events.Event, text string) *Incident {
	if m.IncidentCounts == nil {
		m.IncidentCounts = map[string]int{}
	}
	kind := l.Data.Type()
	m.IncidentCounts[kind]++
	news := Incident{Seq: l.Seq, Time: l.Time, Kind: kind, Text: cut(text)}
	m.Incidents = newest(append(m.Incidents, news), maxIncidents)
	return &m.Incidents[len(m.Incidents)-1]
}

// apply handles the lines about a member outside of the course of its turns. It returns
// false for others.
func (s memberFold) apply(l events.Event) bool {
	if l.Member == "" {
		return false
	}
	switch e := l.Data.(type) {
	case events.MemberStarted:
		s.run().Staffed, s.Before = true, nil
		m := s.member(l.Member)
		s.cutTurn(m)
		m.Agent, m.Session, m.Doing, m.Gone = e.Agent, e.SessionID, "", ""
		m.enter(m.rest(), l.Time)
	case events.SettingUp:
		s.member(l.Member).Doing = cut(e.Doing)
	case events.Rotated:
		m := s.see(l)
		m.Session = cmp.Or(e.Session, m.Session)
	case events.MemberEnded:
		m := s.member(l.Member)
		s.cutTurn(m)
		m.Doing = cut(e.Reason)
		m.enter(api.Ended, l.Time)
	case events.MemberLeft:
		m := s.member(l.Member)
		m.Gone = cut(e.Reason)
		m.Doing = m.Gone
		m.enter(api.Ended, l.Time)
	case events.NeedsAttention:
		m := s.member(l.Member)
		m.Attention, m.AttentionKind, m.AttentionSince = cmp.Or(cut(e.Reason), "unknown"), e.Kind, l.Time
		m.idles(l.Time)
	case events.MemberHeld:
		m := s.member(l.Member)
		m.Held = &Hold{By: e.By, Since: l.Time, Cut: e.Cut}
		m.idles(l.Time)
	case events.MemberResumed:
		m := s.member(l.Member)
		m.Held = nil
		m.idles(l.Time)
	case events.Waiting:
		m := s.member(l.Member)
		m.WaitsFor = cut(e.For)
		m.enter(api.Waiting, l.Time)
	case events.ModelAsked:
		m := s.member(l.Member)
		m.Done.Spend(e.Usage)
		m.Spent.Tokens += e.Usage.Total()
	case events.FreshSession, events.TokensUsed, events.PermissionDecided:
		s.see(l)
	case events.WorktreeChanged:
		s.member(l.Member).setWorktree(Worktree{Path: e.Path, Branch: e.Branch, Base: e.Base, Op: e.Op, Reason: cut(e.Reason)})
	case events.HelperStarted:
		m := s.member(l.Member)
		m.Helpers = newest(append(m.Helpers, Helper{
			ID: e.ID, Kind: e.AgentType, What: cut(e.Description), Began: l.Time, Background: e.Background,
		}), maxCalls)
	case events.HelperEnded:
		m := s.member(l.Member)
		m.Helpers = slices.DeleteFunc(m.Helpers, func(h Helper) bool { return h.ID == e.ID })
	default:
		return s.applyIncident(l)
	}
	return true
}

// applyIncident handles what happened to a member's agent. It returns false for other lines.
func (s memberFold) applyIncident(l events.Event) bool {
	switch e := l.Data.(type) {
	case events.Compacted:
		i := s.see(l).incident(l, strings.TrimSpace(e.Layer+" "+e.Trigger))
		i.Before, i.After = e.Before, e.After
	case events.ProgramRestarts:
		s.restarts(l, e.Reason)
	case events.MemberRestarts:
		s.restarts(l, e.Reason)
		s.cutTurn(s.member(l.Member))
	case events.ModelSwitched:
		s.member(l.Member).incident(l, fmt.Sprintf("%s to %s: %s", e.From, e.To, cut(e.Why)))
	case events.AgentChanged:
		m := s.member(l.Member)
		m.incident(l, e.From+" to "+e.To)
		m.Agent = cmp.Or(e.To, m.Agent)
	case events.WatchdogFound:
		s.member(l.Member).incident(l, e.Reason+"; "+e.Did)
	case events.Limited:
		s.lockedOut(l, Lockout{Agent: e.Agent, Text: cut(e.Text), Until: e.Until, Known: e.Known})
	case events.LoggedOut:
		s.lockedOut(l, Lockout{Agent: e.Agent, Text: cut(e.Hint), Fix: cut(e.Fix)})
	case events.TurnFailed:
		if e.Until.IsZero() {
			s.member(l.Member).incident(l, e.Text)
			break
		}
		s.lockedOut(l, Lockout{Text: cut(e.Text), Until: e.Until, Known: true, Left: e.Left})
	default:
		return false
	}
	return true
}

// restarts notes that a member's agent begins anew, so that its calls have no results.
func (s memberFold) restarts(l events.Event, reason string) {
	m := s.member(l.Member)
	m.incident(l, reason)
	m.Calls = nil
}

// lockedOut ends the turn of a member whose agent cannot answer.
func (s memberFold) lockedOut(l events.Event, why Lockout) {
	m := s.member(l.Member)
	why.Kind, why.Since = l.Data.Type(), l.Time
	m.Lockout = &why
	m.incident(l, why.Text)
	m.WaitsFor = ""
	m.enter(m.rest(), l.Time)
}

// setWorktree replaces what is known of the member's working copy. A later line has no Base.
func (m *Member) setWorktree(w Worktree) {
	if m.Worktree != nil && m.Worktree.Path == w.Path {
		w.Branch, w.Base = cmp.Or(w.Branch, m.Worktree.Branch), cmp.Or(w.Base, m.Worktree.Base)
	}
	m.Worktree = &w
}
