package crew

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/events"
)

// fit reports whether a member can begin. If not, the member takes no turns until the
// next covey up; it keeps its tasks, and the lead is told.
func (c *Crew) fit(ctx context.Context, s *Seat) bool {
	if s.occupant.Unfit == "" {
		return true
	}
	c.reportUnfit(ctx, s, s.occupant.Unfit)
	return false
}

// reportUnfit records that a member does not begin in this run, and tells the lead.
func (c *Crew) reportUnfit(ctx context.Context, s *Seat, reason string) {
	c.begin(s)
	if ctx.Err() != nil {
		return
	}
	c.deps.Journal.Append(events.Event{Member: s.Member.Name, Data: events.NeedsAttention{Reason: reason}})
	c.logError(ctx, s, c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s takes no turns: %s", s.Member.Name, reason)))
	s.tellLeft(reason)
	s.Life.Retire(reason)
	c.deps.Loop.Poke()
}

// ready lets the parts prepare what a member works in, in its goroutine, so that members do not wait
// for each other. It reports whether the member can begin. If not, it tells people and the lead. The
// member keeps its tasks, because the next run starts it again.
func (c *Crew) ready(ctx context.Context, s *Seat) bool {
	err := tell(c, func(p Preparer) error { return p.Ready(ctx, s.Member) })
	if err != nil {
		c.reportUnfit(ctx, s, err.Error())
	}
	return err == nil
}
