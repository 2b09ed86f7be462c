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
func newMember(name string) *Member { return &Member{Name: name, State: api.Starting, Stage: Begins} }

// enter notes that the member is at another stage of its life, or goes on with its turn.
func (m *Member) enter(stage Stage, at time.Time) {
	m.Stage, m.Gate, m.HeldUp = stage, "", ""
	m.settle(at)
}

// clearAttention handles that the member needs nobody any more.
func (m *Member) clearAttention(at time.Time) {
	m.Attention, m.AttentionSince, m.AtLimit = "", time.Time{}, false
	m.settle(at)
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

// works notes that a member does something in its turn.
func (m *Member) works(doing string, at time.Time) {
	m.Doing = doing
	m.enter(InWork, at)
}

// maxDenied is how many different paths are counted.
const maxDenied = 100

// deny counts what a program of the member was kept from.
func (m *Member) deny(what string) {
	if m.Box == nil {
		m.Box = &Box{}
	}
	if m.Box.Denied == nil {
		m.Box.Denied = map[string]int{}
	}
	if _, known := m.Box.Denied[what]; !known && len(m.Box.Denied) >= maxDenied {
		what = "others"
	}
	m.Box.Denied[what]++
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
		if cmp.Or(m.wait(events.ForLimit), m.wait(events.ForRetry)) == "" {
			m.answers()
		}
		m.enter(Idles, l.Time)
	case events.Sandboxed:
		m := s.member(l.Member)
		had := m.Box
		if m.Box = (&Box{Level: e.Level, Lost: e.Lost}); had != nil {
			m.Box.Denied = had.Denied
		}
	case events.SandboxDenied:
		s.member(l.Member).deny(cut(e.Access + " " + e.Path))
	case events.MemberPlaced:
		s.member(l.Member).place(e.Node)
	case events.SettingUp:
		s.member(l.Member).Doing = cut(e.Doing)
	case events.Rotated:
		m := s.see(l)
		m.Session = cmp.Or(e.Session, m.Session)
	case events.MemberEnded:
		m := s.member(l.Member)
		s.cutTurn(m)
		m.Doing = cut(e.Reason)
		if m.enter(Over, l.Time); e.Again {
			m.enter(Begins, l.Time)
		}
	case events.MemberLeft:
		m := s.member(l.Member)
		m.Gone, m.Doing = reason(e.Reason), cut(e.Reason)
		m.enter(Over, l.Time)
	case events.NeedsAttention:
		m := s.member(l.Member)
		m.Attention, m.AttentionSince = cmp.Or(reason(e.Reason), "unknown"), l.Time
		m.AtLimit = e.Kind == events.AttentionLimit
		m.settle(l.Time)
	case events.AttentionOver:
		s.member(l.Member).clearAttention(l.Time)
	case events.MemberHeld:
		m := s.member(l.Member)
		m.Held = &Hold{By: e.By, Since: l.Time, Cut: e.Cut}
		m.settle(l.Time)
	case events.MemberResumed:
		m := s.member(l.Member)
		m.Held = nil
		m.settle(l.Time)
	case events.Waiting:
		s.member(l.Member).waits(e, l.Time)
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
		s.member(l.Member).enter(Begins, l.Time)
	case events.ModelSwitched:
		s.member(l.Member).incident(l, fmt.Sprintf("%s to %s: %s", e.From, e.To, cut(e.Why)))
	case events.AgentChanged:
		m := s.member(l.Member)
		m.incident(l, e.From+" to "+e.To)
		m.Agent = cmp.Or(e.To, m.Agent)
		m.answers()
		m.settle(l.Time)
	case events.WatchdogFound:
		s.member(l.Member).incident(l, e.Reason+"; "+e.Did)
	case events.Limited:
		s.lockedOut(l, Lockout{Agent: e.Agent, Text: cut(e.Text), Until: e.Until, Known: e.Known}, events.ForLimit, "its limit to end")
	case events.LoggedOut:
		s.lockedOut(l, Lockout{Agent: e.Agent, Text: cut(e.Hint), Fix: cut(e.Fix), Key: e.Key}, events.ForLogin, "a login")
	case events.TurnFailed:
		if e.Until.IsZero() {
			s.member(l.Member).incident(l, e.Text)
			break
		}
		s.lockedOut(l, Lockout{Text: cut(e.Text), Until: e.Until, Known: true, Left: e.Left}, events.ForRetry,
			fmt.Sprintf("try %d of %d, after: %s", e.Failed, e.Failed+e.Left-1, e.Text))
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

// lockedOut ends the turn of a member whose agent cannot answer, and who waits for that to end.
func (s memberFold) lockedOut(l events.Event, why Lockout, kind events.WaitKind, waitsFor string) {
	m := s.member(l.Member)
	why.Since = l.Time
	m.Lockout = &why
	m.incident(l, why.Text)
	m.enter(Idles, l.Time)
	m.waits(events.Waiting{Kind: kind, For: waitsFor, Until: why.Until}, l.Time)
}

// answers notes that the member's agent may answer again.
func (m *Member) answers() {
	m.Lockout = nil
	for _, kind := range []events.WaitKind{events.ForLimit, events.ForLogin, events.ForRetry} {
		delete(m.Waits, kind)
	}
}

// waits notes what a part of the team says that the member waits for, or waits for no more.
func (m *Member) waits(w events.Waiting, at time.Time) {
	w.For = cut(w.For)
	switch {
	case w.For == "" && (w.Kind == events.ForLimit || w.Kind == events.ForRetry):
		m.answers()
	case w.For == "":
		delete(m.Waits, w.Kind)
	default:
		if m.Waits == nil {
			m.Waits = map[events.WaitKind]events.Waiting{}
		}
		m.Waits[w.Kind] = w
	}
	m.settle(at)
}

// setWorktree replaces what is known of the member's working copy. A later line has no Base.
func (m *Member) setWorktree(w Worktree) {
	if m.Worktree != nil && m.Worktree.Path == w.Path {
		w.Branch, w.Base = cmp.Or(w.Branch, m.Worktree.Branch), cmp.Or(w.Base, m.Worktree.Base)
	}
	m.Worktree = &w
}

// place puts a member on a node.
func (m *Member) place(node string) {
	if m.Node = node; m.LastNode != node { // whose reports have other numbers
		m.LastNode, m.Reported = node, 0
	}
}
