package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// AgentChanged is sent when a member goes on with another agent, because its own
// has reached a vendor's limit, or has it no more.
type AgentChanged struct {
	From  string    `json:"from"` // as people know the agents
	To    string    `json:"to"`
	Until time.Time `json:"until,omitzero"` // when it goes back to its own; zero: it has
}

// EventType is the journal's name for it.
func (AgentChanged) EventType() string { return "agent_changed" }

// keyFallback is where the store has which agents of a member are used up, and
// until when.
func keyFallback(member string) string { return "fallback/" + member }

// usable is the first agent of a chain whose limit is over, and else when the
// first of them will be.
func usable(chain []configs.Agent, used map[string]time.Time, now time.Time) (a configs.Agent,
	until time.Time, ok bool) {
	for _, a := range chain {
		at := used[a.Name]
		if !at.Round(0).After(now.Round(0)) {
			return a, time.Time{}, true
		}
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	return chain[0], until, false
}

// chain is what a member with an agent may think with; that alone where a limit is
// to be waited for.
func (c *crew) chain(own configs.Agent) []configs.Agent {
	if c.agents == nil || c.ledger.OnLimit() != configs.FallBack {
		return []configs.Agent{own}
	}
	return c.agents(own)
}

// usedUpUntil notes that the agent which a member has now is used up, and says
// when it can go on: at once (zero), if there is another to fall back to.
func (c *crew) usedUpUntil(ctx context.Context, s *seat, until time.Time) time.Time {
	chain := c.chain(s.member.Agent)
	if len(chain) == 1 {
		return until
	}
	c.mu.Lock()
	used := map[string]time.Time{}
	for _, a := range chain { // what is no agent of its any more is forgotten
		if at, ok := s.used[a.Name]; ok {
			used[a.Name] = at
		}
	}
	used[s.member.CurrentAgent().Name] = until
	s.used = used
	c.mu.Unlock()
	c.act(ctx, s, c.store.Put(context.WithoutCancel(ctx), keyFallback(s.member.Name), rawjson.Encode(used)))
	_, until, _ = usable(chain, used, c.clock.Now())
	return until
}

// reseat gives an idle member the agent that it is to go on with: its own as soon
// as that has no limit any more, else the first that has none.
func (c *crew) reseat(s *seat) {
	c.mu.Lock()
	used := s.used
	c.mu.Unlock()
	before := s.member.CurrentAgent()
	if len(used) == 0 && before.Name == s.member.Agent.Name {
		return
	}
	a, _, ok := usable(c.chain(s.member.Agent), used, c.clock.Now())
	if !ok || a.Name == before.Name {
		return
	}
	voice := ""
	s.member.SwitchAgent(nil)
	if a.Name != s.member.Agent.Name {
		voice = a.Name
		s.member.SwitchAgent(&a)
	}
	s.mate.Renew(voice)
	c.ledger.SetAgent(s.member.Name, a)
	changed := AgentChanged{From: roster.AgentName(before), To: roster.AgentName(s.member.CurrentAgent())}
	if voice != "" {
		changed.Until = used[s.member.Agent.Name]
	}
	c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: changed})
}

// recallFallback reads which agents of a member were used up in an earlier run,
// so that also a turn that was cut off goes on with the agent that it had.
func (c *crew) recallFallback(ctx context.Context, s *seat) error {
	var used map[string]time.Time
	if err := tasks.ReadValue(ctx, c.store, keyFallback(s.member.Name), &used); err != nil {
		return fmt.Errorf("which agents of %s are used up: %w", s.member.Name, err)
	}
	c.mu.Lock()
	s.used = used
	c.mu.Unlock()
	if len(used) > 0 && s.mate != nil {
		c.reseat(s)
	}
	return nil
}

// agentsOf makes what gives the agents that one may be followed by, of the kinds
// that their programs turned out to have.
func (o *Orchestrator) agentsOf() func(configs.Agent) []configs.Agent {
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
