package crew

import (
	"context"
	"time"

	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/teammate/agent"
)

// MemberRestarts is told when a member that has failed is about to begin anew.
type MemberRestarts struct {
	Reason string        `json:"reason"`
	Rest   time.Duration `json:"rest_ns"` // until it begins
	Left   int           `json:"left"`    // how often it may fail again before it is given up
}

// EventType is the journal's name for it.
func (MemberRestarts) EventType() string { return "member_restarts" }

// failed notes that a member has failed. It returns how long the member rests before it
// begins anew; ok is false if it is given up.
func (c *Crew) failed(s *Seat, reason string) (rest time.Duration, ok bool) {
	rest, left, ok := c.restarts.Fail(*s.Member.Member, c.clock.Now())
	if ok {
		c.journal.Append(agent.Event{
			Member: s.Member.Name, Turn: s.Turn(), Data: MemberRestarts{Reason: reason, Rest: rest, Left: left},
		})
	}
	return rest, ok
}

// fall is for a member whose life has ended by an error: it rests and begins anew in
// another seat, or is given up. Its goroutine runs this last.
func (c *Crew) fall(ctx context.Context, s *Seat, reason string) {
	rest, ok := c.failed(s, reason)
	if !ok {
		c.leave(ctx, s, lives.GivenUp(*s.Member.Member, reason))
		return
	}
	s.Life.BeginAnew(rest)
	c.vacateRested(ctx, s)
}

// vacateRested gives up a seat once its member has rested.
//
// The rest is over at once when the team ends: nobody begins anew then, and an end is
// not to wait two minutes for that. A member that was told to leave while it rested leaves
// and does not begin anew.
func (c *Crew) vacateRested(ctx context.Context, s *Seat) {
	if rest := s.Life.RestsFor(); rest > 0 {
		select {
		case <-c.clock.After(rest):
		case <-ctx.Done():
		case <-c.loop.Over():
			return
		}
	}
	switch {
	case s.Life.State().Leaving != "":
		departures{c}.seeOff(ctx, s)
	case ctx.Err() == nil:
		c.vacate(s)
	}
}

// stumble is for a turn that has failed. Where the spec has a policy of its own for
// the member, it begins anew after it, or leaves; else it is reminded of its work, and
// then needs attention, as people can help with most of what models and vendors fail
// of. It reports whether it has seen to the member.
//
// It is called from the event of the failed turn. The lead is never dismissed here; it
// falls through to the reminders, which end with a person being told.
func (c *Crew) stumble(ctx context.Context, s *Seat, reason string) bool {
	if !s.Member.Restart.Given {
		return false
	}
	rest, ok := c.failed(s, reason)
	if !ok {
		if s.Member.Lead {
			return false // a team without its lead has nobody to report
		}
		departures{c}.dismissMember(ctx, s, lives.GivenUp(*s.Member.Member, reason), 0)
		return true
	}
	s.Life.BeginAnew(rest)
	return true
}
