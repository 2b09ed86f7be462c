package crew

import (
	"context"
	"time"

	"github.com/coveyteam/covey/orchestrator/plan"
)

// switchAgent gives an idle member the agent for its next turn.
func (c *Crew) switchAgent(s *Seat) {
	if a, changed := c.deps.Logins.Switch(s.Member, s.Turn()); changed {
		s.occupant.Teammate.Renew(s.Member.FallbackAgent())
		// The ledger prices what the member uses by its agent's models.
		c.deps.Accounts.Ledger.SetAgent(s.Member.Name, a)
	}
}

// Admit waits for a slot of the member's agent. It implements teammate.Admitter.
func (s *Seat) Admit(ctx context.Context) (release func(), err error) {
	return s.crew.deps.Logins.Admit(ctx, s.Member, s.Turn())
}

// Lend makes the member's slot available to others. takeBack waits for a slot again; it
// does nothing if the member had none.
func (c *Crew) Lend(member string) (takeBack func(context.Context) error) {
	s, ok := c.deps.Seats.Of(member)
	if !c.deps.Logins.GiveBack(member) || !ok {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		if now, ok := c.deps.Seats.Of(member); !ok || now != s {
			return nil // the call outlived its member's life, and the slot belongs to the next one
		}
		_, err := s.Admit(ctx)
		return err
	}
}

// TryNow lets an idle, locked-out member try again at once. It reports whether there was
// a lockout.
func (c *Crew) TryNow(s *Seat) bool {
	now := s.Life.State()
	return now.Idle && now.Gone == "" && c.deps.Logins.Retry(s.Member.Name)
}

// waitsToRetry reports whether an idle member waits to try its last turn again.
func (s *Seat) waitsToRetry(now time.Time) bool {
	return !s.held() && s.crew.deps.Logins.State(s.Member.Name).Lockout.State(now) == plan.LockFailed
}
