package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// serve begins the life of one member.
func (c *crew) serve(ctx context.Context, s *seat) {
	if !c.fit(ctx, s) || !c.setUpTree(ctx, s) {
		c.end(s)
		return
	}
	c.goOn(c.own(ctx, s), s)
}

// goOn runs a member until it rests or its life is over.
func (c *crew) goOn(ctx context.Context, s *seat) {
	for {
		err := s.mate.Run(ctx)
		if !errors.Is(err, teammate.ErrResting) {
			c.lived(ctx, s, err)
			return
		}
		if s.life.Rest(ctx) {
			return
		}
	}
}

// end notes that a member's last goroutine has ended.
func (c *crew) end(s *seat) {
	s.life.End()
	c.loop.Poke()
}

// lived sees to what a member leaves behind whose Run came back with err.
func (c *crew) lived(ctx context.Context, s *seat, err error) {
	defer c.end(s)
	defer s.life.Part()
	c.short.Note(err)
	// Before its tasks are anybody else's: its agent must not work at them any more.
	c.act(ctx, s, c.programs.End(s.member))
	c.functions.Session(s.member.Session.Session).Release() // what its agent has registered ends with it
	c.begin(s)
	now := s.life.State()
	switch {
	case now.Leaving != "":
		c.seeOff(ctx, s)
	case ctx.Err() != nil:
	case err == nil && now.Exit != lives.Stays && now.Halting == "":
		c.vacateRested(ctx, s)
	case err == nil && now.Halting == "":
	case err == nil:
		c.halted(ctx, s, now.Halting)
	case errors.Is(err, teammate.ErrHalted):
		c.halted(ctx, s, err.Error())
	default:
		said := strings.TrimPrefix(err.Error(), fmt.Sprintf("member %q: ", s.member.Name)) // who it is stands before it
		c.fall(ctx, s, "it failed: "+said)
	}
}

// halted is for a member that a hook has stopped for good: it stays so when
// the team is started again.
func (c *crew) halted(ctx context.Context, s *seat, reason string) {
	s.member.Session.State, s.member.Session.Reason = stateHalted, reason
	c.act(ctx, s, c.store.Members().Set(ctx, s.member.Session))
	c.leave(ctx, s, reason)
}

// leave is for a member that will not be started again in this run: its tasks
// go back to the list, and the lead is told.
func (c *crew) leave(ctx context.Context, s *seat, reason string) {
	c.tools.Revoke(s.member) // what is left of its agent must not act for it any more
	c.store.Members().LetGo(s.member.Name)
	released, err := c.release(ctx, s.member.Name, reason)
	text := fmt.Sprintf("Teammate %s takes no more turns: %s", s.member.Name, reason)
	if len(released) > 0 {
		text += "\nOpen again: " + tasks.NamesOf(released)
	}
	c.act(ctx, s, errors.Join(err, c.tellLeadOf(ctx, s, text), c.parted(ctx, s, reason, released),
		c.asks.Leave(ctx, s.member.Name)))
	// Last, because a member that is gone makes the crew look for the end: by then
	// its tasks are open again and the lead has its mail.
	s.life.Retire(reason)
	c.loop.Poke()
}

// release gives back all open tasks of a member that is not started again:
// what it had in progress is pending again, and none of it is its own.
func (c *crew) release(ctx context.Context, member, reason string) ([]tasks.Task, error) {
	released, err := c.store.Release(ctx, actors.Actor{}, member, reason)
	if err != nil {
		return released, err
	}
	owned, err := c.store.Owned(ctx, member)
	if err != nil {
		return released, err
	}
	nobody := ""
	for _, t := range owned {
		t, _, err := c.store.Update(ctx, actors.Actor{}, t.ID, tasks.Patch{Owner: &nobody})
		if err != nil {
			return released, err
		}
		released = append(released, t)
	}
	return released, nil
}

// stateHalted is the actors.Member.State of a member that a hook has stopped
// for good.
const stateHalted = "halted"

// sinkOf makes the sink of a member: events go to the journal, and the crew
// takes from them what it must know.
func (c *crew) sinkOf(ctx context.Context, s *seat) agent.Sink {
	return func(e agent.Event) {
		// The crew knows before the journal does, because the journal may make the
		// member wait, and ps must not.
		data, err := c.logins.Take(ctx, s.member, e.Data)
		c.act(ctx, s, err)
		e.Data = c.weighed(ctx, s, c.full(s, data))
		c.tally.See(e)
		c.watch.See(s.member.Name, e)
		if end, ok := e.Data.(agent.HookFinished); ok {
			c.live.Tallies.Add(s.member.Name, hooklist.EndOf(end))
		}
		c.writes.See(ctx, s.member, e) // first, for it looks at the clock
		c.journal.Append(e)
		c.coordinated(s, e)
		switch data := e.Data.(type) {
		case agent.MemberStarted:
			c.begin(s)
		case agent.NeedsAttention:
			c.act(ctx, s, c.needsAttention(ctx, s, data.Reason))
		case agent.ToolReturned:
			c.afterCall(s)
		case agent.ToolCalled:
			c.vendorAnswered(s)
		case agent.HelperEnded:
			c.loop.Poke() // it may be what the team was waiting for
		case agent.Idle:
			c.act(ctx, s, c.idled(ctx, s, data))
		case agent.Limited:
			c.act(ctx, s, c.tellOfLimit(ctx, s, data))
		case agent.TurnEnded:
			c.ledger.TurnEnded(s.member.Name, s.turn(), data)
			c.act(ctx, s, c.logins.TurnEnded(ctx, s.member.Name, data.Reason))
		}
	}
}

// full returns an idle event with what the crew knows and the member does not; other events
// stay as they are. What runs in the background is cut to the width of a line.
func (c *crew) full(s *seat, data agent.EventData) agent.EventData {
	idle, ok := data.(agent.Idle)
	if !ok {
		return data
	}
	for _, b := range s.backgroundTasks() {
		idle.Background = append(idle.Background, wording.Short(b.Command, wording.LineWidth))
	}
	idle.Background = append(idle.Background, c.background.Commands(s.member.Name)...)
	idle.Completed = c.notes.CompletedBy(s.member.Name)
	return idle
}

// idled leaves the member's note for the lead, and sees to turns that came to
// nothing: the lead is told at once, and a member that nobody will remind of
// anything needs attention.
func (c *crew) idled(ctx context.Context, s *seat, idle agent.Idle) error {
	failed := "its last turn failed: " + idle.LastText
	again, worn := c.logins.TriesAgain(s.member.Name)
	switch {
	case again:
		return nil // its work has not come to an end yet
	case worn != "":
		failed = worn
	}
	note := c.notes.Of(s.member.Name, idle)
	if idle.Reason == agent.IdleStopped {
		note.FailureReason = "a hook stopped its turn"
	}
	if idle.Reason == agent.IdleFailed && c.stumble(ctx, s, failed) {
		return c.notes.Send(ctx, note, c.clock.Now())
	}
	switch {
	case idle.Reason != agent.IdleFailed && idle.Reason != agent.IdleStopped:
		if s.member.Lead {
			return nil
		}
		return c.notes.Put(ctx, note)
	case idle.Reason == agent.IdleFailed:
		all, err := c.store.List(ctx)
		if err != nil {
			return err
		}
		if worn != "" || s.member.Lead || len(tasks.Actable(all, s.member.Name)) == 0 {
			return c.giveUpOn(ctx, s, failed)
		}
	case s.member.Lead:
		return nil
	}
	return c.notes.Send(ctx, note, c.clock.Now())
}

// act notes an error of something that was done on the side.
// It has nobody to return it to: members' events come from their own goroutines,
// and what failed here is only what others would have been told.
func (c *crew) act(ctx context.Context, s *seat, err error) {
	if err != nil && ctx.Err() == nil {
		c.log.Error("what happened to a member could not be noted", "member", s.member.Name, "err", err)
	}
}

// turn is the number of the member's turn.
func (s *seat) turn() int {
	return s.crew.watch.Of(s.member.Name).Turn
}

// goneReason is that of a member's seat, by its name; empty, too, for who has none.
func (c *crew) goneReason(member string) string {
	if s, ok := c.seat(member); ok {
		return s.life.State().Gone
	}
	return ""
}

// killStrays ends what members' tools have left running behind covey's back.
// The context that ended the team must not end this.
func (c *crew) killStrays(ctx context.Context) {
	if killed := c.processes.KillStrays(context.WithoutCancel(ctx)); len(killed) > 0 {
		c.journal.Tell(agent.Warning{Text: fmt.Sprintf("processes that tools had left running were killed: %v", killed)})
	}
}
