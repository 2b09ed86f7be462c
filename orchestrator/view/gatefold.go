package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// gateFold is the part of a fold that handles hooks and gates.
type gateFold struct{ *State }

// apply handles the lines of hooks and gates. It returns false for others.
func (s gateFold) apply(l events.Event) bool {
	switch e := l.Data.(type) {
	case events.GateAsked:
		s.gate(l, e)
		s.addTaskLine(e.TaskID, l)
	case events.HookStarted:
		s.hookStarted(l, e)
	case events.HookFinished:
		s.hookFinished(l, e)
	case events.HookFeedback:
		s.feedback(l, e)
	case events.HookStopped:
		if g := s.found().gates[e.ToolUseID]; g != nil {
			g.Last, g.Reason = l.Seq, cut(e.Message)
			s.judged(g, Halted, l.Time)
		}
	case events.VerdictFound:
		s.verdict(l, events.VerdictReused{Task: e.Task, Command: e.Command, Tree: e.Tree})
	case events.VerdictReused:
		s.verdict(l, e)
	default:
		return false
	}
	return true
}

// isGate reports whether the hooks of an event decide about a turn end.
func isGate(event string) bool {
	return event == "Stop" || event == "TaskCompleted" || event == "TeammateIdle"
}

// gate returns the gate with a tool-use id, and adds it if it is new. A fold that begins in
// the middle of a journal may meet a gate's hooks first.
func (s gateFold) gate(l events.Event, asked events.GateAsked) *Gate {
	x := s.found()
	if g := x.gates[asked.ToolUseID]; g != nil {
		g.Last = l.Seq
		return g
	}
	g := &Gate{
		ID: asked.ToolUseID, Event: asked.Event, At: AtTurnEnd, Member: l.Member, Turn: l.Turn, Task: asked.TaskID,
		Merge: asked.Merge, First: l.Seq, Last: l.Seq, Started: l.Time, Verdict: Judging,
	}
	if m := x.members[l.Member]; m != nil {
		if g.Pass = m.Pass; len(m.Calls) > 0 || !m.InTurn && m.State != api.Starting {
			g.At = AtCall
		}
	}
	if l.Member == "" {
		g.At = AtMerge
		s.findMerge(g)
	}
	g.Number = s.times(g) + 1
	x.gates[g.ID], x.judging = g, append(x.judging, g)
	var dropped int
	s.Gates, dropped = bounded(append(s.Gates, g), maxGates, func(g *Gate) bool { return g.Verdict != Judging })
	if s.Dropped.Gates += dropped; dropped > 0 {
		clear(x.gates)
		for _, g := range s.Gates {
			x.gates[g.ID] = g
		}
	}
	return g
}

// findMerge finds the merge that a gate judges.
func (s gateFold) findMerge(g *Gate) {
	for _, m := range slices.Backward(s.Merges) {
		if m.ID == g.Merge || g.Merge == "" && m.State == tasks.MergeTesting {
			g.Merge, g.Member = m.ID, m.Member
			return
		}
	}
}

// times returns how often the same gate was asked before in the turn, or at the merge.
func (s gateFold) times(g *Gate) int {
	for _, o := range slices.Backward(s.Gates) {
		switch {
		case o.Member != g.Member:
		case o.At != AtMerge && o.Turn < g.Turn:
			return 0
		case o.Event == g.Event && o.Turn == g.Turn && o.Task == g.Task && o.Merge == g.Merge:
			return o.Number
		}
	}
	return 0
}

// judged sets the verdict of a gate.
func (s *State) judged(g *Gate, v Verdict, at time.Time) {
	g.Verdict, g.Ended = v, at
	s.index.judging = slices.DeleteFunc(s.index.judging, func(o *Gate) bool { return o == g })
}

// hookStarted notes a hook that runs. While one of the turn end runs, the member has done its
// work and waits for a verdict.
func (s gateFold) hookStarted(l events.Event, e events.HookStarted) {
	var m *Member
	if l.Member != "" {
		m = s.member(l.Member)
	}
	if m != nil && l.Helper == "" {
		m.Doing = cut(e.Event + ": " + cmp.Or(e.Status, e.Command))
	}
	if !isGate(e.Event) || l.Helper != "" {
		return
	}
	g := s.gate(l, events.GateAsked{Event: e.Event, ToolUseID: e.ToolUseID})
	g.Hooks = newest(append(g.Hooks, HookRun{Command: cut(e.Command)}), maxHookRuns)
	if g.Verdict != Judging { // its last hook had to wait for a slot
		g.Verdict, g.Ended = Judging, time.Time{}
		s.index.judging = append(s.index.judging, g)
	}
	if m != nil && g.At == AtTurnEnd {
		m.enter(InWork, l.Time)
		m.Gate = e.Event
	}
}

// hookFinished counts a hook and notes its result.
func (s gateFold) hookFinished(l events.Event, e events.HookFinished) {
	if l.Member == "" {
		atMerge := e
		atMerge.Event = api.AtMerge
		s.MergeHooks.Add(atMerge)
	} else {
		m := s.member(l.Member)
		m.Hooks.Add(e)
		if !isGate(e.Event) && !e.Background && l.Helper == "" && m.InTurn {
			m.Doing = m.busyWith() // the call goes on that the hook was about
		}
	}
	if !isGate(e.Event) || e.Background || l.Helper != "" {
		return
	}
	g := s.gate(l, events.GateAsked{Event: e.Event, ToolUseID: e.ToolUseID})
	run := g.running(cut(e.Command))
	run.Seq, run.Outcome, run.ExitCode, run.DurationMS = l.Seq, e.Outcome, e.ExitCode, e.DurationMS
	run.Output = cmp.Or(firstLine(e.Stderr), firstLine(e.Stdout), firstLine(e.Warning))
	run.FailedOpen, run.Observed, run.Awaits = e.FailedOpen, e.Observed, cut(e.Awaits)
	if v := g.verdict(); v != Judging && g.Verdict != Halted {
		s.judged(g, v, l.Time)
	}
}

// running returns the hook of the gate with this command that runs, and adds one if a hook ended
// that has not started.
func (g *Gate) running(command string) *HookRun {
	same := func(h HookRun) bool { return h.Seq == 0 && h.Command == command }
	i := slices.IndexFunc(g.Hooks, same)
	if i < 0 {
		g.Hooks = newest(append(g.Hooks, HookRun{Command: command}), maxHookRuns)
		i = len(g.Hooks) - 1
	}
	return &g.Hooks[i]
}

// verdict returns the verdict that follows from the ends of the gate's hooks, and sets By and
// Reason. A refusal outweighs a missing answer.
func (g *Gate) verdict() Verdict {
	v, by := Agreed, []string(nil)
	for _, h := range g.Hooks {
		switch {
		case h.Seq == 0:
			return Judging
		case h.Observed != "":
		case h.Outcome == "blocking":
			if v != Refused {
				v, by = Refused, nil
			}
			by = append(by, h.Command)
		case h.Outcome == "await" && v != Refused:
			v, by, g.Reason = Awaits, append(by, h.Command), h.Awaits
		case h.Outcome == "cancelled" && !h.FailedOpen && v == Agreed:
			v = Cut
		}
	}
	g.By = by
	return v
}

// feedback counts a refusal. The member goes on with what the hooks said.
func (s gateFold) feedback(l events.Event, e events.HookFeedback) {
	if l.Member == "" {
		return
	}
	m := s.see(l)
	s.run().Refusals++
	if t := s.index.turns[m.Name]; t != nil {
		t.Refusals++
	}
	if l.Helper == "" {
		m.works("refused by "+e.Event, l.Time)
	}
	said := Feedback(e.Event, e.Text)
	if l.Helper == "" && e.Event == "TaskCompleted" {
		m.Refused = cut(texts.LastLine(said))
	}
	by := ""
	if g := s.index.gates[e.ToolUseID]; g != nil {
		g.Last, g.At, g.Reason = l.Seq, Moment(cmp.Or(e.Path, string(g.At))), cmp.Or(g.Reason, cut(Reason(e.Event, e.Text)))
		if g.Verdict != Halted && g.Verdict != Awaits { // that it waits is said to the member, too
			s.judged(g, Refused, l.Time)
		}
		by = strings.Join(g.By, ", ")
	}
	if id, r, ok := RefusalOf(l); ok {
		t, _ := s.task(id)
		t.addLine(l.Seq)
		r.By = by
		t.refused(r)
	}
}

// verdict notes which files a hook judges that runs now. Judged is zero if the verdict is new.
func (s gateFold) verdict(l events.Event, v events.VerdictReused) {
	s.addTaskLine(v.Task, l)
	for _, g := range s.found().judging {
		work := g.Task
		if m := s.index.merges[g.Merge]; m != nil {
			work = m.Subject()
		}
		if work != v.Task {
			continue
		}
		for i := range g.Hooks {
			if h := &g.Hooks[i]; h.Seq == 0 && h.Tree == "" && h.Command == cut(v.Command) {
				h.Tree, h.Judged, h.Reused = v.Tree, v.Judged, !v.Judged.IsZero()
				return
			}
		}
	}
}
