package crew

import (
	"context"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// Sink returns the sink for the member's events.
//
// The sink is called in the member's goroutine, or in that of a helper or a hook, and the
// caller waits for it. Its errors are logged: they concern notices to others, and the
// member cannot do anything about them. What depends on an event being journaled comes
// after Append.
func (s *Seat) Sink(ctx context.Context) events.Sink {
	c := s.crew
	return func(e events.Event) {
		e = s.Record(ctx, e)
		switch data := e.Data.(type) {
		case events.MemberStarted:
			c.begin(s)
		case events.NeedsAttention:
			c.logError(ctx, s, c.needsAttention(ctx, s, data.Reason))
		case events.ToolReturned:
			c.afterCall(s)
		case events.HelperEnded:
			c.deps.Loop.Poke() // the team may have waited for it
		case events.Idle:
			c.logError(ctx, s, c.recordIdle(ctx, s, data))
		case events.Limited:
			c.logError(ctx, s, c.tellOfLimit(ctx, s, data))
		}
	}
}

// Record completes an event of the member, and shows it to the journal and to the parts. It returns the
// event as it is in the journal.
func (s *Seat) Record(ctx context.Context, e events.Event) events.Event {
	c := s.crew
	e.Data = c.markEmpty(ctx, s, fillIdle(s, e.Data))
	for _, p := range c.completers {
		var err error
		e, err = p.Complete(ctx, s.Member, e)
		c.logError(ctx, s, err)
	}
	c.deps.Journal.Append(e)
	for _, p := range c.watchers {
		c.logError(ctx, s, p.Saw(ctx, s.Member, e))
	}
	return e
}

// fillIdle adds to an idle event what the member itself does not know. Commands are cut to
// the width of a line.
func fillIdle(s *Seat, data events.Data) events.Data {
	idle, ok := data.(events.Idle)
	if !ok {
		return data
	}
	for _, b := range s.BackgroundTasks() {
		if b.Command == "" {
			continue // a teammate of the lead
		}
		idle.Background = append(idle.Background, texts.Short(b.Command, texts.LineWidth))
	}
	return idle
}

// markEmpty sets whether a turn that has ended was empty, as far as the crew knows. A final text counts
// if a person has written, or if it is the lead's last, which `covey up` prints.
func (c *Crew) markEmpty(ctx context.Context, s *Seat, data events.Data) events.Data {
	end, ok := data.(events.TurnEnded)
	if !ok {
		return data
	}
	end.Empty = !c.deps.State.Done(s.Member.Name).Useful
	if end.Empty && s.Member.Lead {
		err := s.Act(ctx, func() (err error) {
			end.Empty, err = c.deps.Store.AnyOpen(ctx)
			return err
		})
		end.Empty = err == nil && end.Empty
	}
	return end
}

// recordIdle stores the member's idle note for the lead. After a failed turn it tells the lead
// at once, or marks the member as needing attention if no reminder would reach it.
//
// A failed turn has three outcomes. It is tried again, and nobody is told. The restart
// policy of the spec handles it, and the lead is told. Or the lead is told and the member
// reminded of its tasks; if it has none, or the lead itself has failed, no reminder would
// come, and people are told.
func (c *Crew) recordIdle(ctx context.Context, s *Seat, idle events.Idle) error {
	failed := "its last turn failed: " + idle.LastText
	again, worn := c.deps.Logins.TriesAgain(s.Member.Name)
	switch {
	case again:
		return nil // the turn is tried again
	case worn != "":
		failed = worn
	}
	note := c.deps.Notes.Of(s.Member.Name, idle)
	if idle.Reason == events.IdleStopped {
		note.FailureReason = "a hook stopped its turn"
	}
	if idle.Reason == events.IdleFailed && c.turnFailed(ctx, s, failed) {
		return c.deps.Notes.Send(ctx, note, c.deps.Clock.Now())
	}
	if rests, err := c.restsAfterHook(ctx, s, idle); rests || err != nil {
		return err
	}
	switch {
	case idle.Reason != events.IdleFailed && idle.Reason != events.IdleStopped:
		if s.Member.Lead {
			return nil
		}
		return c.deps.Notes.Put(ctx, note)
	case idle.Reason == events.IdleFailed:
		own, err := c.deps.Store.Actable(ctx, s.Member.Name)
		if err != nil {
			return err
		}
		if worn != "" || s.Member.Lead || len(own) == 0 {
			return c.giveUpOn(ctx, s, failed, "")
		}
	case s.Member.Lead:
		return nil
	}
	return c.deps.Notes.Send(ctx, note, c.deps.Clock.Now())
}

// restsAfterHook marks a member as needing attention if a hook has stopped it before its work was
// done. The lead's work is what the operator asked, and a teammate's its tasks.
func (c *Crew) restsAfterHook(ctx context.Context, s *Seat, idle events.Idle) (rests bool, err error) {
	if idle.Stopped == "" {
		return false, nil
	}
	if !s.Member.Lead {
		own, err := c.deps.Store.Actable(ctx, s.Member.Name)
		if err != nil || len(own) == 0 {
			return false, err
		}
	}
	return true, c.giveUpOn(ctx, s, idle.Stopped, "")
}

// tellOfLimit tells the lead of a member's usage limit, once for consecutive tries with
// the same result.
func (c *Crew) tellOfLimit(ctx context.Context, s *Seat, e events.Limited) error {
	text, waits, again := c.deps.Logins.LimitText(s.Member, e)
	if again {
		return nil
	}
	if waits {
		owned, err := c.deps.Store.Owned(ctx, s.Member.Name)
		if err != nil {
			return fmt.Errorf("the tasks of %s: %w", s.Member.Name, err)
		}
		open := slices.DeleteFunc(owned, func(t tasks.Task) bool { return t.Status == tasks.Completed })
		if len(open) > 0 {
			text += " It keeps " + tasks.NamesOf(open) + " and goes on with what it was asked; reassign what cannot wait."
		}
	}
	return c.tellLeadOf(ctx, s, text)
}
