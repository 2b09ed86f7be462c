package view

import (
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
)

// teamFold is the part of a fold that handles the team as a whole.
type teamFold struct{ *State }

// apply handles the lines about the team as a whole. It returns false for others.
func (s teamFold) apply(l events.Event) bool {
	switch e := l.Data.(type) {
	case events.TeamStarted:
		s.teamStarted(l, e)
	case events.TeamEnded:
		s.teamEnded(l, e)
	case events.TeamWaits:
		s.Waits = &Wait{Since: l.Time, Until: e.Until, Members: e.Members}
	case events.Bus:
		s.Bus = &e
	case events.NodeChanged:
		i, known := slices.BinarySearchFunc(s.Nodes, e.Node, func(n Node, name string) int { return strings.Compare(n.Node, name) })
		now := Node{NodeChanged: e, Since: l.Time}
		switch {
		case !known:
			s.Nodes = slices.Insert(slices.Clone(s.Nodes), i, now)
		case s.Nodes[i].State == e.State: // only its labels, or whether it drains
			now.Since = s.Nodes[i].Since
			fallthrough
		default:
			s.Nodes = slices.Clone(s.Nodes) // readers may have it
			s.Nodes[i] = now
		}
	case events.BudgetUse:
		s.budget(l, e)
	case events.MemberUse:
		s.use(l, e)
	case events.Coordination:
		e.Of = 0 // turnEnded counts it, of all turns of the lead
		s.Coordination = s.Coordination.Plus(e)
	case events.Warning:
		w := Note{Seq: l.Seq, Time: l.Time, Member: l.Member, Text: cut(e.Text)}
		before := len(s.Warnings) + 1
		s.Warnings = newest(append(s.Warnings, w), maxWarnings)
		s.Dropped.Warnings += before - len(s.Warnings)
	case events.SpecChanged:
		s.specChanged(e)
	default:
		return false
	}
	return true
}

// run returns the present run. A fold that begins in the middle has one without a beginning.
func (s *State) run() *Run {
	if len(s.Runs) == 0 {
		s.Runs = append(s.Runs, Run{First: s.First, Last: s.Seq})
	}
	return &s.Runs[len(s.Runs)-1]
}

// teamStarted begins a run. What members did in the last run is kept until a member begins its
// session, because a run that finds nothing new has none.
func (s teamFold) teamStarted(l events.Event, e events.TeamStarted) {
	for _, m := range s.Members {
		s.cutTurn(m)
		m.Box = nil
	}
	if n := len(s.Runs); n > 0 && s.Runs[n-1].Ended.IsZero() {
		s.Runs[n-1].Cut = true
	}
	s.Nodes = nil
	s.Waits, s.Bus, s.Gated, s.BudgetTime = nil, nil, e.Gated, l.Time
	s.Runs = append(s.Runs, Run{
		First: l.Seq, Last: l.Seq, Started: l.Time, Goal: cut(e.Goal), Resumed: e.Resumed, Covey: e.Version,
		Spec: e.Spec, Workspace: e.Workspace, Merge: e.Merge,
	})
	before := len(s.Runs)
	s.Runs = newest(s.Runs, maxRuns)
	s.Dropped.Runs += before - len(s.Runs)
	if e.Merge != "" {
		return
	}
	if s.Before == nil && len(s.Members) > 0 {
		s.Before = &Staff{MergeHooks: s.MergeHooks, Budget: s.Budget}
		for _, m := range s.Members {
			was := *m
			s.Before.Members = append(s.Before.Members, &was)
		}
	}
	s.Coordination, s.MergeHooks, s.Budget = events.Coordination{}, nil, nil
	s.seat(e.Members)
	for _, m := range s.Members {
		m.begin(l.Time)
	}
}

// begin clears what a member did in an earlier run. It shares nothing with a copy of the member.
func (m *Member) begin(at time.Time) {
	fresh := newMember(m.Name)
	fresh.Lead, fresh.Left, fresh.Agent, fresh.Held = m.Lead, m.Left, m.Agent, m.Held
	fresh.InProgress, fresh.Spent, fresh.Unread = slices.Clone(m.InProgress), m.Spent, m.Unread
	fresh.CostTold, fresh.Texts, fresh.Worktree = m.CostTold, slices.Clone(m.Texts), m.Worktree
	fresh.Unreported, fresh.Awaits, fresh.Lockout = slices.Clone(m.Unreported), m.Awaits, m.Lockout
	fresh.Reported, fresh.LastNode = m.Reported, m.LastNode
	if m.Left {
		fresh.Stage = Over
	}
	fresh.settle(at)
	*m = *fresh
}

// seat makes the members of the team those with these names, the lead first.
func (s teamFold) seat(names []string) {
	if len(names) == 0 { // nobody is known to have left
		return
	}
	for _, m := range s.Members {
		m.Left, m.Lead = true, false
	}
	place := map[string]int{}
	for i, name := range names {
		m := s.member(name)
		m.Left, m.Lead = false, i == 0
		place[name] = i
	}
	rank := func(m *Member) int {
		if i, ok := place[m.Name]; ok {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(s.Members, func(a, b *Member) int { return rank(a) - rank(b) })
}

// teamEnded ends a run. If all was done, what needed attention was settled in another way, for
// example because a person completed the task.
func (s teamFold) teamEnded(l events.Event, e events.TeamEnded) {
	r := s.run()
	if e.Merge == "" {
		s.Budget = s.BudgetAt(l.Time)
	}
	code := e.ExitCode
	r.Ended, r.Reason, r.ExitCode, r.Counts = l.Time, cut(e.Reason), &code, e.Tasks
	if e.Turns != (events.TurnCount{}) {
		r.Turns = e.Turns
	}
	s.Waits = nil
	for _, m := range s.Members {
		s.cutTurn(m)
	}
	if code == 0 && e.Merge == "" {
		for _, m := range slices.Concat(s.Members, s.Staff().Members) {
			m.clearAttention(l.Time)
		}
	}
}

// Staff returns the members of the last run that had any.
func (s *State) Staff() Staff {
	if s.Before != nil {
		return *s.Before
	}
	return Staff{Members: s.Members, MergeHooks: s.MergeHooks, Budget: s.Budget}
}

// use notes what a member has used, and with it the team.
func (s teamFold) use(l events.Event, u events.MemberUse) {
	s.Budget, s.BudgetTime = u.Team, l.Time
	if l.Member != "" {
		m := s.member(l.Member)
		m.Limits, m.Spent.CostUSD, m.CostTold = u.Limits, u.CostUSD, true
	}
}

// budget replaces the use of a limit by a newer one.
func (s teamFold) budget(l events.Event, u events.BudgetUse) {
	list := &s.Budget
	if u.Member != "" {
		m := s.Member(u.Member)
		if m == nil {
			return
		}
		list = &m.Limits
	} else if u.What == events.Time {
		s.BudgetTime = l.Time
	}
	*list = slices.Clone(*list) // others may read the old one
	same := func(o events.BudgetUse) bool { return o.What == u.What }
	if i := slices.IndexFunc(*list, same); i >= 0 {
		(*list)[i] = u
	} else {
		*list = append(*list, u)
	}
}

// specChanged handles another version of the spec.
func (s teamFold) specChanged(c events.SpecChanged) {
	s.Gated = c.Gated
	if c.Goal != "" {
		s.run().Goal = cut(c.Goal)
	}
	for _, m := range c.Members {
		switch m.Change {
		case events.MemberAdded:
			s.member(m.Name).Left = false
		case events.MemberRetires:
			s.member(m.Name).Left = true
		}
	}
}
