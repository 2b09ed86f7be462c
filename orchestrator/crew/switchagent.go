package crew

import "context"

// switchAgent gives an idle member the agent for its next turn.
func (c *Crew) switchAgent(s *Seat) {
	if a, changed := c.deps.Logins.Switch(s.Member); changed {
		s.occupant.Mate.Renew(s.Member.FallbackAgent())
		// The ledger prices what the member uses by its agent's models.
		c.deps.Ledger.SetAgent(s.Member.Name, a)
	}
}

// Admit waits for a slot of the member's agent. It implements teammate.Admitter.
func (s *Seat) Admit(ctx context.Context) (release func(), err error) {
	return s.crew.deps.Logins.Admit(ctx, s.Member)
}

// TryNow lets an idle, locked-out member try again at once. It reports whether there was
// a lockout.
func (c *Crew) TryNow(s *Seat) bool {
	now := s.Life.State()
	return now.Idle && now.Gone == "" && c.deps.Logins.Retry(s.Member.Name)
}
