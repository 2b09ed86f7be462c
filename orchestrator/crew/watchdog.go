package crew

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// watchdog looks after members that neither work nor rest, in a goroutine of its own.
type watchdog struct{ c *Crew }

// watchOver starts the watchdog. stop ends it and waits for it: it must not
// begin anything once nobody waits for what it begins.
//
// The crew calls it when its members begin, and stop before it waits for them: an
// interrupt or a notice that is sent after that would reach a store that is closed.
func (w watchdog) watchOver(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.c.watch.Guard(ctx, w.c.clock, w.watched, func(member string, f lives.Finding) {
			if s, ok := w.c.seats.Of(member); ok {
				w.c.act(ctx, s, w.rouse(ctx, s, f))
			}
		})
	}()
	return func() {
		cancel()
		<-over
	}
}

// watched are the members as the watchdog sees them. It makes up for a poke that was lost.
func (w watchdog) watched() []lives.Watched {
	w.c.loop.PokeSurely()
	seats := w.c.seats.All()
	list := make([]lives.Watched, len(seats))
	for i, s := range seats {
		m := lives.Watched{
			Name: s.Member.Name, Helped: s.mate != nil && s.mate.Helpers() > 0,
			Waits:  w.c.asks.Awaits(s.Member.Name) != "" || w.c.logins.State(s.Member.Name).Waits != "",
			ByWire: speaksByWire(*s.Member.Member), Limit: s.Member.Limits.TurnTimeout,
		}
		now := s.Life.State()
		m.InTurn = now.InTurn()
		m.Waits = m.Waits || now.Gone != "" || now.Leaving != ""
		list[i] = m
	}
	return list
}

// rouse does what a finding asks for, and tells of it.
//
// The event comes before the deed, so that the journal has the reason even if covey
// dies over it. What the member is to go on with is stored before the interrupt: a crash
// between the two leaves a notice too many, never a member that has lost its work.
func (w watchdog) rouse(ctx context.Context, s *Seat, f lives.Finding) error {
	w.c.journal.Append(agent.Event{Member: s.Member.Name, Turn: s.Turn(), Data: f})
	switch f.Did {
	case lives.LookedAgain:
		return nil // watched has poked the crew
	case lives.LifeEnded:
		departures{w.c}.dismissMember(ctx, s, f.Reason, 0)
		return nil // its leaving is told
	case lives.MemberGivenUp:
		s.mate.Interrupt("covey's watchdog: " + f.Reason)
		return (alarms{w.c}).giveUpOn(ctx, s, "twice in a row "+f.Reason)
	}
	if err := w.onceMore(ctx, s, f.Reason); err != nil {
		return err
	}
	s.mate.Interrupt("covey's watchdog: " + f.Reason)
	return (alarms{w.c}).tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s was interrupted and begins again: %s",
		s.Member.Name, f.Reason))
}

// onceMore has a member go on with the turn that is about to be cut off. It is
// mail, so that it survives a crash.
func (w watchdog) onceMore(ctx context.Context, s *Seat, reason string) error {
	text := "covey has ended your last turn, because " + reason + ". Go on with what it was about; if something in it " +
		"does not come to an end, do without."
	_, err := w.c.store.Mail().Send(ctx, actors.Actor{}, mail.Outgoing{
		To: []string{s.Member.Name}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	})
	return err
}

// speaksByWire reports whether a member's agent is a program, which may think
// for long with nothing in it that is an event.
func speaksByWire(m configs.Member) bool {
	return m.Agent.Kind == configs.ACP || m.Agent.Kind == configs.Command
}
