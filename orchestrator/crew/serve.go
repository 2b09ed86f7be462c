package crew

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
)

// serve begins the life of one member.
func (c *Crew) serve(ctx context.Context, s *Seat) {
	if !c.fit(ctx, s) || !c.setUpTree(ctx, s) {
		s.Life.Part() // somebody may wait for it to leave
		c.end(s)
		return
	}
	c.goOn(c.own(ctx, s), s)
}

// goOn runs a member until it rests or its life is over.
func (c *Crew) goOn(ctx context.Context, s *Seat) {
	for {
		err := s.mate.Run(ctx)
		if !errors.Is(err, teammate.ErrResting) {
			c.lived(ctx, s, err)
			return
		}
		if s.Life.Rest(ctx) {
			return
		}
	}
}

// end notes that a member's last goroutine has ended.
func (c *Crew) end(s *Seat) {
	s.Life.End()
	c.loop.Poke()
}

// lived sees to what a member leaves behind whose Run came back with err.
func (c *Crew) lived(ctx context.Context, s *Seat, err error) {
	defer c.end(s)
	defer s.Life.Part()
	c.short.Note(err)
	// Before its tasks are anybody else's: its agent must not work at them any more.
	c.act(ctx, s, c.programs.End(s.Member))
	c.hooks.Functions.Session(s.Member.Session.Session).Release() // what its agent has registered ends with it
	c.begin(s)
	now := s.Life.State()
	switch {
	case now.Leaving != "":
		departures{c}.seeOff(ctx, s)
	case ctx.Err() != nil:
	case err == nil && now.Exit != lives.Stays && now.Halting == "":
		c.vacateRested(ctx, s)
	case err == nil && now.Halting == "":
	case err == nil:
		c.halted(ctx, s, now.Halting)
	case errors.Is(err, teammate.ErrHalted):
		c.halted(ctx, s, err.Error())
	default:
		said := strings.TrimPrefix(err.Error(), fmt.Sprintf("member %q: ", s.Member.Name)) // who it is stands before it
		c.fall(ctx, s, "it failed: "+said)
	}
}

// halted is for a member that a hook has stopped for good: it stays so when
// the team is started again.
func (c *Crew) halted(ctx context.Context, s *Seat, reason string) {
	s.Member.Session.State, s.Member.Session.Reason = stateHalted, reason
	c.act(ctx, s, c.store.Members().Set(ctx, s.Member.Session))
	c.leave(ctx, s, reason)
}

// leave is for a member that will not be started again in this run: its tasks
// go back to the list, and the lead is told.
func (c *Crew) leave(ctx context.Context, s *Seat, reason string) {
	c.tools.Revoke(s.Member) // what is left of its agent must not act for it any more
	c.store.Members().Detach(s.Member.Name)
	released, err := c.release(ctx, s.Member.Name, reason)
	text := fmt.Sprintf("Teammate %s takes no more turns: %s", s.Member.Name, reason)
	if len(released) > 0 {
		text += "\nOpen again: " + tasks.NamesOf(released)
	}
	c.act(ctx, s, errors.Join(err, (alarms{c}).tellLeadOf(ctx, s, text), departures{c}.parted(ctx, s, reason, released),
		c.asks.Leave(ctx, s.Member.Name)))
	// Last, because a member that is gone makes the crew look for the end: by then
	// its tasks are open again and the lead has its mail.
	s.Life.Retire(reason)
	c.loop.Poke()
}

// release gives back all open tasks of a member that is not started again:
// what it had in progress is pending again, and none of it is its own.
func (c *Crew) release(ctx context.Context, member, reason string) ([]tasks.Task, error) {
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

// act notes an error of something that was done on the side.
// It has nobody to return it to: members' events come from their own goroutines,
// and what failed here is only what others would have been told.
func (c *Crew) act(ctx context.Context, s *Seat, err error) {
	if err != nil && ctx.Err() == nil {
		c.log.Error("what happened to a member could not be noted", "member", s.Member.Name, "err", err)
	}
}

// Turn is the number of the member's turn.
func (s *Seat) Turn() int {
	return s.crew.watch.Of(s.Member.Name).Turn
}
