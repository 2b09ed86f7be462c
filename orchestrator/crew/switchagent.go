package crew

import (
	"context"
	"time"

	"github.com/coveyteam/covey/orchestrator/plan"
)

// switchAgent gives an idle member the agent that it is to go on with.
func (c *Crew) switchAgent(s *Seat) {
	if a, changed := c.logins.Switch(s.Member, s.Turn()); changed {
		s.mate.Renew(s.Member.FallbackAgent())
		c.accounts.Ledger.SetAgent(s.Member.Name, a)
	}
}

// Admit waits for a slot of the member's agent. It is a teammate.Admitter.
func (s *Seat) Admit(ctx context.Context) (release func(), err error) {
	return s.crew.logins.Admit(ctx, s.Member, s.Turn())
}

// Lend lends the slot of a member to others. A member that holds none now, takes none
// back.
func (c *Crew) Lend(member string) (takeBack func(context.Context) error) {
	s, ok := c.seats.Of(member)
	if !c.logins.GiveBack(member) || !ok {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		if now, ok := c.seats.Of(member); !ok || now != s {
			return nil // the call has outlived its member's life: the slot is the next life's
		}
		_, err := s.Admit(ctx)
		return err
	}
}

// TryNow lets an idle member that is locked out try again at once. It reports
// whether there is such a lockout.
func (c *Crew) TryNow(s *Seat) bool {
	now := s.Life.State()
	return now.Idle && now.Gone == "" && c.logins.Retry(s.Member.Name)
}

// holdsBack reports whether an idle member waits to try its last turn again.
func (s *Seat) holdsBack(now time.Time) bool {
	return !s.held() && s.crew.logins.State(s.Member.Name).Lockout.State(now) == plan.LockFailed
}
