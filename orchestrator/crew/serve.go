package crew

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
)

// serve runs the life of one member.
func (c *Crew) serve(ctx context.Context, s *Seat) {
	if !c.ready(ctx, s) {
		s.Life.MarkLeft() // EndMember may wait for it
		c.end(s)
		return
	}
	c.runMember(c.memberContext(ctx, s), s)
}

// runMember runs a member until it rests or its life ends.
func (c *Crew) runMember(ctx context.Context, s *Seat) {
	for {
		err := s.occupant.Mate.Run(ctx)
		if !errors.Is(err, teammate.ErrResting) {
			c.finishLife(ctx, s, err)
			return
		}
		if s.Life.Rest(ctx) {
			return
		}
	}
}

// end records that a member's last goroutine has ended.
func (c *Crew) end(s *Seat) {
	s.Life.End()
	c.deps.Loop.Poke()
}

// finishLife cleans up after a member whose Run returned err, and decides what follows.
//
// The cases are in the order in which they take precedence: a decision that the member
// leaves holds even if it failed meanwhile; the end of the team decides nothing about the
// member; only then the member's own result counts.
func (c *Crew) finishLife(ctx context.Context, s *Seat, err error) {
	defer c.end(s)
	defer s.Life.MarkLeft()
	c.deps.Short.Note(err)
	// End the agent before others can claim its tasks.
	c.logError(ctx, s, tell(c, func(p Stopper) error { return p.Stopped(s.Member) }))
	c.begin(s)
	now := s.Life.State()
	switch {
	case now.Leaving != "":
		c.completeLeave(ctx, s)
	case ctx.Err() != nil:
	case err == nil && now.Exit != members.Stays && now.Halting == "":
		c.vacateRested(ctx, s)
	case err == nil && now.Halting == "":
	case err == nil:
		c.halted(ctx, s, now.Halting)
	case asMoved(err) != nil:
		c.moved(ctx, s, asMoved(err))
	case errors.Is(err, teammate.ErrHalted):
		c.halted(ctx, s, err.Error())
	default:
		said := strings.TrimPrefix(err.Error(), fmt.Sprintf("member %q: ", s.Member.Name)) // the member is named elsewhere
		c.restartOrGiveUp(ctx, s, "it failed: "+said)
	}
}

// halted handles a member that a hook has stopped permanently, also for later runs.
func (c *Crew) halted(ctx context.Context, s *Seat, reason string) {
	s.Member.Session.State, s.Member.Session.Reason = actors.StateHalted, reason
	c.logError(ctx, s, c.deps.Store.Members().Set(ctx, s.Member.Session))
	c.leave(ctx, s, reason)
}

// leave handles a member that will not restart in this run: its tasks become open again,
// and the lead is told.
func (c *Crew) leave(ctx context.Context, s *Seat, reason string) {
	c.deps.Store.Members().Detach(s.Member.Name)
	released, err := c.release(ctx, s.Member.Name, reason)
	// Before the lead is told, which may want the member's place for another.
	err = errors.Join(err, tell(c, func(p Retirer) error { return p.Retired(ctx, s.Member) }))
	text := fmt.Sprintf("Teammate %s takes no more turns: %s", s.Member.Name, reason)
	if len(released) > 0 {
		text += "\nOpen again: " + tasks.NamesOf(released)
	}
	c.logError(ctx, s, errors.Join(err, c.tellLeadOf(ctx, s, text), c.announceLeft(ctx, s, reason, released)))
	// Retire last: the crew checks for the end when a member is gone, and must then see
	// its open tasks and the lead's mail.
	s.journal(events.MemberLeft{Reason: reason})
	s.Life.Retire(reason)
	c.deps.Loop.Poke()
}

// journal appends an event of the member's turn to the journal.
func (s *Seat) journal(data events.Data) {
	s.crew.deps.Journal.Append(events.Event{Member: s.Member.Name, Turn: s.Turn(), Data: data})
}

// release makes all open tasks of a member pending and unowned, and returns them.
func (c *Crew) release(ctx context.Context, member, reason string) ([]tasks.Task, error) {
	released, err := c.deps.Store.Release(ctx, actors.Actor{}, member, reason)
	if err != nil {
		return released, err
	}
	// Release opens the tasks in progress. Pending ones that were assigned to the member
	// keep their owner there, and nobody else could claim them.
	owned, err := c.deps.Store.Owned(ctx, member)
	if err != nil {
		return released, err
	}
	nobody := ""
	for _, t := range owned {
		t, _, err := c.deps.Store.Update(ctx, actors.Actor{}, t.ID, tasks.Patch{Owner: &nobody})
		if err != nil {
			return released, err
		}
		released = append(released, t)
	}
	return released, nil
}

// logError records an error of a side effect. The event that caused it comes from a member's
// goroutine, which cannot handle it; only notifications to others were lost.
func (c *Crew) logError(ctx context.Context, s *Seat, err error) {
	if err != nil && ctx.Err() == nil {
		c.deps.Log.Error("an event of a member could not be processed", "member", s.Member.Name, "err", err)
	}
}

// Turn returns the number of the member's turn.
func (s *Seat) Turn() int {
	return s.crew.deps.State.Position(s.Member.Name).Turn
}
