package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/clock"
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

// restartOf is a member's policy. Without one in the spec a member that has failed is
// given up: its agent program has been started again several times by then.
func restartOf(m configs.Member) configs.Restart {
	if !m.Restart.Given {
		return configs.Restart{}
	}
	return m.Restart
}

// failures are when a member has failed, the earliest first.
type failures []time.Time

// next notes a failure, and says how long the member rests before it begins anew; ok
// is false when it has failed too often for that.
//
// Failures that lie further back than the policy's time are dropped, so that one a week
// never adds up. Those that lie ahead of now are dropped too: the clock was set back, and
// they would else count for long. f itself is not changed.
func (f failures) next(r configs.Restart, now time.Time) (after failures, rest time.Duration, ok bool) {
	for _, at := range f {
		if now.Sub(at) < r.Within && !at.After(now) {
			after = append(after, at)
		}
	}
	if len(after) >= r.Max {
		return after, 0, false
	}
	after = append(after, now)
	return after, clock.Backoff(len(after)), true
}

// failed notes that a member has failed and says whether it begins anew.
//
// Counts are by name and not by seat, because each life of a member has a seat of its
// own. They are not in the store: a team that people start again begins with none.
func (c *crew) failed(s *seat, reason string) (rest time.Duration, ok bool) {
	policy := restartOf(*s.member.Member)
	c.mu.Lock()
	if c.falls == nil {
		c.falls = map[string]failures{}
	}
	falls, rest, ok := c.falls[s.member.Name].next(policy, c.clock.Now())
	c.falls[s.member.Name] = falls
	c.mu.Unlock()
	if ok {
		c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: MemberRestarts{
			Reason: reason, Rest: rest, Left: policy.Max - len(falls),
		}})
	}
	return rest, ok
}

// fall is for a member whose life has ended by an error: it rests and begins anew, or
// is given up. Its goroutine runs this last.
//
// relieved has the crew make a new seat for the member once this one is vacated; until
// then it is not idle, or work would be handed to a seat in which nobody sits.
func (c *crew) fall(ctx context.Context, s *seat, reason string) {
	rest, ok := c.failed(s, reason)
	if !ok {
		c.leave(ctx, s, c.tooOften(s, reason))
		return
	}
	c.mu.Lock()
	s.relieved, s.idle, s.rest = beginsAnew, false, rest
	c.mu.Unlock()
	c.vacateRested(ctx, s)
}

// tooOften says why a member is not started again.
func (c *crew) tooOften(s *seat, reason string) string {
	policy := restartOf(*s.member.Member)
	if policy.Max == 0 {
		return reason
	}
	return fmt.Sprintf("%s; it was started again %d times in %s, and is not any more", reason, policy.Max,
		policy.Within)
}

// vacateRested gives up a seat once its member has rested.
//
// The rest is over at once when the team ends: nobody begins anew then, and an end is
// not to wait two minutes for that.
func (c *crew) vacateRested(ctx context.Context, s *seat) {
	c.mu.Lock()
	rest := s.rest
	c.mu.Unlock()
	if rest > 0 {
		select {
		case <-c.clock.After(rest):
		case <-ctx.Done():
			return
		case <-c.over:
			return
		}
	}
	c.vacate(s)
}

// stumble is for a turn that has failed. Where the spec has a policy of its own for
// the member, it begins anew after it, or leaves; else it is reminded of its work, and
// then needs attention, as people can help with most of what models and vendors fail
// of. It reports whether it has seen to the member.
//
// It is called from the event of the failed turn. The lead is never dismissed here; it
// falls through to the reminders, which end with a person being told.
func (c *crew) stumble(ctx context.Context, s *seat, reason string) bool {
	if !s.member.Restart.Given {
		return false
	}
	rest, ok := c.failed(s, reason)
	if !ok {
		if s.member.Lead {
			return false // a team without its lead has nobody to report
		}
		c.dismissMember(ctx, s, c.tooOften(s, reason), 0)
		return true
	}
	c.mu.Lock()
	s.rest = rest
	retired := s.relieved == leavesForGood
	c.mu.Unlock()
	if !retired {
		c.relieve(s, beginsAnew)
	}
	return true
}
