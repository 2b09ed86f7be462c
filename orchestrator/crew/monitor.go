package crew

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// monitor takes in what members and the store report: the journal gets it, and the crew
// learns from it what it must know. The members' goroutines and that of the journal call it.
type monitor struct{ c *Crew }

// sinkOf makes the sink of a member: events go to the journal, and the crew
// takes from them what it must know.
func (m monitor) sinkOf(ctx context.Context, s *Seat) agent.Sink {
	return func(e agent.Event) {
		// The crew knows before the journal does, because the journal may make the
		// member wait, and ps must not.
		data, err := m.c.logins.Take(ctx, s.Member, e.Data)
		m.c.act(ctx, s, err)
		e.Data = m.weighed(ctx, s, m.full(s, data))
		m.c.accounts.Tally.See(e)
		m.c.watch.See(s.Member.Name, e)
		if end, ok := e.Data.(agent.HookFinished); ok {
			m.c.hooks.Live.Tallies.Add(s.Member.Name, hooklist.EndOf(end))
		}
		m.c.work.Writes.See(ctx, s.Member, e) // first, for it looks at the clock
		m.c.journal.Append(e)
		m.coordinated(s, e)
		switch data := e.Data.(type) {
		case agent.MemberStarted:
			m.c.begin(s)
		case agent.NeedsAttention:
			m.c.act(ctx, s, (alarms{m.c}).needsAttention(ctx, s, data.Reason))
		case agent.ToolReturned:
			departures{m.c}.afterCall(s)
		case agent.ToolCalled:
			m.vendorAnswered(s)
		case agent.HelperEnded:
			m.c.loop.Poke() // it may be what the team was waiting for
		case agent.Idle:
			m.c.act(ctx, s, m.idled(ctx, s, data))
		case agent.Limited:
			m.c.act(ctx, s, m.tellOfLimit(ctx, s, data))
		case agent.TurnEnded:
			m.c.accounts.Ledger.TurnEnded(s.Member.Name, s.Turn(), data)
			m.c.act(ctx, s, m.c.logins.TurnEnded(ctx, s.Member.Name, data.Reason))
		}
	}
}

// full returns an idle event with what the crew knows and the member does not; other events
// stay as they are. What runs in the background is cut to the width of a line.
func (m monitor) full(s *Seat, data agent.EventData) agent.EventData {
	idle, ok := data.(agent.Idle)
	if !ok {
		return data
	}
	for _, b := range s.BackgroundTasks() {
		idle.Background = append(idle.Background, notation.Short(b.Command, notation.LineWidth))
	}
	idle.Background = append(idle.Background, m.c.hooks.Background.Commands(s.Member.Name)...)
	idle.Completed = m.c.notes.CompletedBy(s.Member.Name)
	return idle
}

// weighed fills in whether a turn that has ended was empty; other events stay as they are.
//
// Words are needed where a person has written, where another member has asked and is told
// of them by a note, and where they are the lead's last: those `covey up` prints.
func (m monitor) weighed(ctx context.Context, s *Seat, data agent.EventData) agent.EventData {
	end, ok := data.(agent.TurnEnded)
	if !ok {
		return data
	}
	end.Empty = !m.c.accounts.Tally.Of(s.Member.Name).Useful && !m.c.notes.WasAsked(s.Member.Name)
	if end.Empty && s.Member.Lead {
		all, err := m.c.store.List(ctx)
		end.Empty = err == nil && len(tasks.OpenTasks(all)) > 0
	}
	return end
}

// coordinated tells the journal what a turn of the lead's has spent on notices.
func (m monitor) coordinated(s *Seat, e agent.Event) {
	if !s.Member.Lead || e.Helper != "" {
		return
	}
	if spent, ok := m.c.accounts.Notices.See(e.Data); ok {
		m.c.journal.Append(agent.Event{Member: e.Member, Turn: e.Turn, Data: spent})
	}
}

// idled leaves the member's note for the lead, and sees to turns that came to
// nothing: the lead is told at once, and a member that nobody will remind of
// anything needs attention.
func (m monitor) idled(ctx context.Context, s *Seat, idle agent.Idle) error {
	failed := "its last turn failed: " + idle.LastText
	again, worn := m.c.logins.TriesAgain(s.Member.Name)
	switch {
	case again:
		return nil // its work has not come to an end yet
	case worn != "":
		failed = worn
	}
	note := m.c.notes.Of(s.Member.Name, idle)
	if idle.Reason == agent.IdleStopped {
		note.FailureReason = "a hook stopped its turn"
	}
	if idle.Reason == agent.IdleFailed && m.c.stumble(ctx, s, failed) {
		return m.c.notes.Send(ctx, note, m.c.clock.Now())
	}
	switch {
	case idle.Reason != agent.IdleFailed && idle.Reason != agent.IdleStopped:
		if s.Member.Lead {
			return nil
		}
		return m.c.notes.Put(ctx, note)
	case idle.Reason == agent.IdleFailed:
		all, err := m.c.store.List(ctx)
		if err != nil {
			return err
		}
		if worn != "" || s.Member.Lead || len(tasks.Actable(all, s.Member.Name)) == 0 {
			return (alarms{m.c}).giveUpOn(ctx, s, failed)
		}
	case s.Member.Lead:
		return nil
	}
	return m.c.notes.Send(ctx, note, m.c.clock.Now())
}

// tellOfLimit tells the lead of a member's usage limit, once for all the tries
// that come to the same.
func (m monitor) tellOfLimit(ctx context.Context, s *Seat, e agent.Limited) error {
	text, waits, again := m.c.logins.LimitText(s.Member, e)
	if again {
		return nil
	}
	if waits {
		owned, err := m.c.store.Owned(ctx, s.Member.Name)
		if err != nil {
			return fmt.Errorf("the tasks of %s: %w", s.Member.Name, err)
		}
		open := slices.DeleteFunc(owned, func(t tasks.Task) bool { return t.Status == tasks.Completed })
		if len(open) > 0 {
			text += " It keeps " + tasks.NamesOf(open) + " and goes on with what it was asked; reassign what cannot wait."
		}
	}
	return (alarms{m.c}).tellLeadOf(ctx, s, text)
}

// vendorAnswered notes that the vendor behind a member has answered in its turn.
func (m monitor) vendorAnswered(s *Seat) {
	if !s.Life.State().Idle {
		m.c.logins.Answered(s.Member.Name)
	}
}

// Sink makes the sink of the member's events. It writes on each turn's end what it has cost,
// and notes what the agent program has asked for.
func (s *Seat) Sink(ctx context.Context) agent.Sink {
	next := monitor{s.crew}.sinkOf(ctx, s)
	return func(e agent.Event) {
		if end, ok := e.Data.(agent.TurnEnded); ok {
			end.CostUSD = s.crew.accounts.Ledger.Purse(s.Member.Name).Price(end.Usage)
			cost, unknown := s.crew.programs.Billed(s.Member)
			end.CostUSD, end.UsageUnknown = end.CostUSD+cost, unknown
			e.Data = end
		}
		s.caller.See(e.Data)
		next(e)
		if warning := s.crew.tools.Missed(s.Member.Name, e.Data); warning != "" {
			s.crew.journal.Append(agent.Event{Member: s.Member.Name, Turn: s.Turn(), Data: agent.Warning{Text: warning}})
		}
	}
}
