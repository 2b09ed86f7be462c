package orchestrator

import (
	"context"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/plan"
)

// switchAgent gives an idle member the agent that it is to go on with.
func (c *crew) switchAgent(s *seat) {
	if a, changed := c.logins.Switch(s.member, s.turn()); changed {
		s.mate.Renew(s.member.FallbackAgent())
		c.accounts.ledger.SetAgent(s.member.Name, a)
	}
}

// Admit waits for a slot of the member's agent. It is a teammate.Admitter.
func (s *seat) Admit(ctx context.Context) (release func(), err error) {
	return s.crew.logins.Admit(ctx, s.member, s.turn())
}

// lendSlot lends the slot of a member to others. A member that holds none now, takes none
// back.
func (c *crew) lendSlot(member string) (takeBack func(context.Context) error) {
	s, ok := c.seating.of(member)
	if !c.logins.GiveBack(member) || !ok {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		if now, ok := c.seating.of(member); !ok || now != s {
			return nil // the call has outlived its member's life: the slot is the next life's
		}
		_, err := s.Admit(ctx)
		return err
	}
}

// tryNow lets an idle member that is locked out try again at once. It reports
// whether there is such a lockout.
func (c *crew) tryNow(s *seat) bool {
	now := s.life.State()
	return now.Idle && now.Gone == "" && c.logins.Retry(s.member.Name)
}

// holdsBack reports whether an idle member waits to try its last turn again.
func (s *seat) holdsBack(now time.Time) bool {
	return !s.held() && s.crew.logins.State(s.member.Name).Lockout.State(now) == plan.LockFailed
}

// agentsOf makes what gives the agents that one may be followed by, of the kinds
// that their programs turned out to have.
func agentsOf(o *Orchestrator) func(configs.Agent) []configs.Agent {
	return func(a configs.Agent) []configs.Agent {
		chain := o.team().Chain(a)
		for i := range chain {
			if l, ok := o.programs()[chain[i].Name]; ok {
				chain[i].Kind = l.Kind(chain[i].Kind)
			}
		}
		return chain
	}
}
