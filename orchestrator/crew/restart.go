package crew

import (
	"context"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
)

// failed records that a member has failed. It returns how long the member rests before
// its restart; ok is false if the member is given up.
func (c *Crew) failed(s *Seat, reason string) (rest time.Duration, ok bool) {
	rest, left, ok := c.restarts.Fail(*s.Member.Member, c.deps.Clock.Now())
	if ok {
		s.journal(events.MemberRestarts{Reason: reason, Rest: rest, Left: left})
	}
	return rest, ok
}

// restartOrGiveUp handles a member whose life ended with an error: it restarts the member in a new
// seat after a rest, or gives it up. The member's goroutine calls it last.
func (c *Crew) restartOrGiveUp(ctx context.Context, s *Seat, reason string) {
	rest, ok := c.failed(s, reason)
	if !ok {
		c.leave(ctx, s, members.GivenUp(*s.Member.Member, reason))
		return
	}
	s.Life.Restart(rest)
	c.vacateRested(ctx, s)
}

// vacateRested vacates a seat once its member has rested. The end of the team ends the
// rest. A member that is told to leave during its rest leaves instead of restarting.
func (c *Crew) vacateRested(ctx context.Context, s *Seat) {
	if rest := s.Life.RestsFor(); rest > 0 {
		select {
		case <-c.deps.Clock.After(rest):
		case <-ctx.Done():
		case <-c.deps.Loop.Over():
			return
		}
	}
	switch {
	case s.Life.State().Leaving != "":
		c.completeLeave(ctx, s)
	case ctx.Err() == nil:
		c.vacate(s)
	}
}

// turnFailed handles a failed turn, and reports whether it has. If the spec gives the member
// a restart policy, the member restarts or leaves. Otherwise it is reminded of its work
// and then needs attention, because people can fix most failures of models and vendors.
//
// It is called from the event of the failed turn. It never removes the lead: reminders
// follow, and then a person is told.
func (c *Crew) turnFailed(ctx context.Context, s *Seat, reason string) bool {
	if !s.Member.Restart.Given {
		return false
	}
	rest, ok := c.failed(s, reason)
	if !ok {
		if s.Member.Lead {
			return false // without a lead nobody reports the result
		}
		c.dismissMember(ctx, s, members.GivenUp(*s.Member.Member, reason), 0)
		return true
	}
	s.Life.Restart(rest)
	return true
}
