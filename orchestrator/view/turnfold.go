package view

import (
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
)

// turnFold is the part of a fold that handles the course of turns.
type turnFold struct{ *State }

// apply handles the lines about the course of a member's turn. It returns false for others.
func (s turnFold) apply(l events.Event) bool {
	if l.Member == "" {
		return false
	}
	switch e := l.Data.(type) {
	case events.TurnStarted:
		s.turnStarted(l, e)
	case events.PassStarted:
		s.passStarted(l, e)
	case events.TextSaid:
		if m := s.member(l.Member); l.Helper == "" {
			said := cut(e.Text)
			m.Said = e.Text
			m.works(said, l.Time)
			m.says(l, said)
			s.index.turns[m.Name].answers(l.Seq)
		}
	case events.ToolCalled:
		s.called(l, e)
	case events.ToolReturned:
		if m := s.member(l.Member); l.Helper == "" {
			m.Calls = slices.DeleteFunc(m.Calls, func(c Call) bool { return c.ID == e.ID })
			m.Doing, m.HeldUp = m.busyWith(), ""
			m.settle(l.Time)
			s.index.turns[m.Name].returned()
		}
	case events.ProgramStarts:
		m := s.member(l.Member)
		if e.Ready {
			m.works(m.busyWith(), l.Time)
		} else {
			m.works("starting "+cut(e.Program), l.Time)
		}
	case events.HeldUp:
		if l.Member == "" { // it is the team's
			return false
		}
		m := s.member(l.Member)
		m.HeldUp = cut(e.For)
		m.settle(l.Time)
	case events.TurnEnded:
		s.turnEnded(l, e)
	case events.Idle:
		s.idle(l, e)
	default:
		return false
	}
	return true
}

// see counts an event of a member, and returns the member.
func (s *State) see(l events.Event) *Member {
	m := s.member(l.Member)
	m.Done.See(l)
	return m
}

// turnStarted begins a turn. It ends the need for attention and every lockout.
func (s turnFold) turnStarted(l events.Event, e events.TurnStarted) {
	m := s.see(l)
	if l.Helper != "" {
		return // it is a part of the member's turn
	}
	s.cutTurn(m)
	s.Waits = nil
	run := s.run()
	run.Turns = run.Turns.Of(1, 0, 0)
	m.answers()
	m.clearAttention(l.Time)
	m.InTurn = true
	if e.Cause != events.ByNudge {
		m.Refused = ""
	}
	m.works("thinking", l.Time)
	t := &Turn{
		Member: m.Name, Number: l.Turn, First: l.Seq, Last: l.Seq, Cause: e.Cause, Prompt: cut(e.Prompt),
		Started: l.Time, Tasks: slices.Clone(m.InProgress),
	}
	var dropped int
	s.Turns, dropped = bounded(append(s.Turns, t), maxTurns, func(t *Turn) bool { return t.Reason != "" })
	s.Dropped.Turns += dropped
	s.index.turns[m.Name] = t
}

// passStarted notes a request to the model. After a refusal the member is at work again.
func (s turnFold) passStarted(l events.Event, e events.PassStarted) {
	m := s.see(l)
	if l.Helper != "" {
		return
	}
	m.Pass = e.Pass
	m.enter(InWork, l.Time)
	if t := s.index.turns[m.Name]; t != nil {
		t.Passes = max(t.Passes, e.Pass)
		t.returned()
	}
}

// answers notes a line of an answer of the model. Of no turn, it does nothing.
func (t *Turn) answers(seq uint64) {
	if t != nil && (t.Answered || t.Answer == 0) {
		t.Answer, t.Answered = seq, false
	}
}

// returned notes that the model gets a result, and answers anew.
func (t *Turn) returned() {
	if t != nil {
		t.Answered = true
	}
}

// called notes a tool call. Those of helpers are what their member does.
func (s turnFold) called(l events.Event, e events.ToolCalled) {
	m := s.see(l)
	if t := s.index.turns[m.Name]; t != nil {
		t.Calls++
	}
	text := cut(e.Name + " " + texts.MainInput(e.Input))
	if l.Helper != "" {
		if m.State == api.Working && m.Gate == "" {
			m.Doing = cut("helper: " + text)
		}
		return
	}
	s.index.turns[m.Name].answers(l.Seq)
	m.Calls = newest(append(m.Calls, Call{ID: e.ID, Text: text}), maxCalls)
	m.works(text, l.Time)
}

// turnEnded ends a turn. Its usage counts for the tasks that were in progress, in equal parts.
func (s turnFold) turnEnded(l events.Event, e events.TurnEnded) {
	m := s.see(l)
	if l.Helper != "" {
		return
	}
	cost := e.CostUSD
	if m.CostTold {
		cost = 0 // it is in the sum
	}
	m.Spent.add(e.Usage.Total(), cost)
	if m.Lead {
		s.Coordination.Of += e.Usage.InputTokens + e.Usage.OutputTokens
	}
	if e.Empty {
		run := s.run()
		run.Turns = run.Turns.Of(0, 1, 0)
	}
	if t := s.index.turns[m.Name]; t != nil {
		t.Ended, t.Reason, t.Passes = l.Time, e.Reason, max(t.Passes, e.Passes)
		t.Last, t.Usage, t.CostUSD, t.Empty = l.Seq, e.Usage, e.CostUSD, e.Empty
		n := len(t.Tasks)
		for _, id := range t.Tasks {
			if task := s.index.tasks[id]; task != nil {
				task.Spent.add(e.Usage.Total()/int64(n), e.CostUSD/float64(n))
			}
		}
		if t.Reason == "" {
			t.Reason = "unknown" // an empty one means that it goes on
		}
	}
	s.leaveTurn(m)
	if m.Lockout == nil {
		m.Doing = ""
	}
}

// add counts a turn.
func (p *Spent) add(tokens int64, usd float64) {
	p.Turns, p.Tokens, p.CostUSD = p.Turns+1, p.Tokens+tokens, p.CostUSD+usd
}

// idle notes that the member waits for work.
func (s turnFold) idle(l events.Event, e events.Idle) {
	m := s.member(l.Member)
	if l.Helper != "" {
		return
	}
	s.leaveTurn(m)
	if m.Lockout == nil {
		m.Doing = cut(e.LastText)
	}
	m.enter(Idles, l.Time)
}

// leaveTurn clears what is true only within a turn. A turn that has no end in the journal is cut:
// its run or its member's life ended before, or the line was lost.
func (s *State) leaveTurn(m *Member) {
	if t := s.found().turns[m.Name]; t != nil && t.Reason == "" {
		t.Reason = "cut"
	}
	delete(s.index.turns, m.Name)
	m.InTurn, m.Pass, m.Calls = false, 0, nil
	for _, g := range slices.Clone(s.index.judging) {
		if g.Member == m.Name && g.At != AtMerge {
			s.judged(g, Cut, s.Time)
		}
	}
}

// cutTurn is leaveTurn where the member's helpers end too.
func (s *State) cutTurn(m *Member) {
	s.leaveTurn(m)
	m.Helpers = nil
}
