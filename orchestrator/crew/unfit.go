package crew

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/events"
)

// ready lets the parts prepare what a member works in, in its goroutine, so that members do not wait
// for each other. It reports whether the member can begin. If not, it tells people and the lead, and
// the member takes no turns until the next covey up. It keeps its tasks.
func (c *Crew) ready(ctx context.Context, s *Seat) bool {
	reason := s.occupant.Unfit
	if reason == "" && s.occupant.Teammate == nil { // its host prepares it
		return true
	}
	if reason == "" {
		err := tell(c, func(p Preparer) error { return p.Ready(ctx, s.Member) })
		if err == nil {
			return true
		}
		reason = err.Error()
	}
	c.begin(s)
	if ctx.Err() != nil {
		return false
	}
	c.deps.Journal.Append(events.Event{Member: s.Member.Name, Data: events.NeedsAttention{Reason: reason}})
	c.logError(ctx, s, c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s takes no turns: %s", s.Member.Name, reason)))
	s.journal(events.MemberLeft{Reason: reason})
	s.Life.Retire(reason)
	c.deps.Loop.Poke()
	return false
}
