package crew

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/actors"
)

// startWatchdog starts the goroutine that finds members that make no progress and are not idle.
// stop ends it and waits for it. Call stop before waiting for the members: later interrupts and
// notices would meet a closed store.
func (c *Crew) startWatchdog(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.deps.Watch.Run(ctx, c.deps.Clock, c.watched, func(member string, f events.WatchdogFound) {
			if s, ok := c.deps.Seats.Of(member); ok {
				c.logError(ctx, s, c.handleFinding(ctx, s, f))
			}
		})
	}()
	return func() {
		cancel()
		<-over
	}
}

// watched returns the members as the watchdog sees them. It also pokes the loop if a poke
// was lost.
//
// Members that wait for something that others decide are marked: their silence is no sign
// of trouble.
func (c *Crew) watched() []members.Watched {
	c.deps.Loop.PokeSurely()
	seats := c.deps.Seats.All()
	list := make([]members.Watched, len(seats))
	for i, s := range seats {
		m := members.Watched{
			Name: s.Member.Name, Helped: s.occupant.Mate.State().Helpers > 0,
			Waits:  c.deps.State.WaitsOnOthers(s.Member.Name),
			ByWire: isProgram(*s.Member.Member), Limit: s.Member.Limits.TurnTimeout,
		}
		now := s.Life.State()
		m.InTurn = now.InTurn()
		m.Waits = m.Waits || now.Gone != "" || now.Leaving != ""
		list[i] = m
	}
	return list
}

// handleFinding carries out a finding and reports it.
//
// The event is journaled first, so that the reason is known even if covey dies. The mail
// that continues the work is stored before the interrupt: a crash in between leaves an
// extra notice, not a member without its work.
func (c *Crew) handleFinding(ctx context.Context, s *Seat, f events.WatchdogFound) error {
	turn := s.Turn()
	c.deps.Journal.Append(events.Event{Member: s.Member.Name, Turn: turn, Data: f})
	switch f.Did {
	case members.LookedAgain:
		return nil // watched has poked the loop
	case members.LifeEnded:
		c.dismissMember(ctx, s, f.Reason, 0)
		return nil // dismissMember reports it
	case members.MemberGivenUp:
		// Before the interrupt, or the loop could remind the idle member of its task first.
		err := c.giveUpOn(ctx, s, "twice in a row "+f.Reason, "")
		if s.Turn() == turn { // it may have ended by itself meanwhile
			s.Interrupt("covey's watchdog: " + f.Reason)
		}
		return err
	}
	_, err := c.mail(ctx, actors.Actor{}, s.Member.Name, "covey has ended your last turn, because "+f.Reason+". Go on with what it was "+
		"about; if something in it does not come to an end, do without.")
	if err != nil {
		return err
	}
	s.Interrupt("covey's watchdog: " + f.Reason)
	return c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s was interrupted and begins again: %s",
		s.Member.Name, f.Reason))
}

// isProgram reports whether a member's agent is a program, which may be silent for
// long while it works.
func isProgram(m configs.Member) bool {
	return m.Agent.Kind == configs.ACP || m.Agent.Kind == configs.Command
}
