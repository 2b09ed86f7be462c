package accounts

import (
	"context"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
)

// keyFallback returns the store key of a member's used-up agents and the ends of their
// limits.
func keyFallback(member string) string { return "fallback/" + member }

// usable returns the first agent of a chain that is not used up; otherwise the one whose
// limit ends first, and when.
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

// chain returns the agents that a member may use, its own first; only its own if the team
// waits for limits.
func (l *Logins) chain(own configs.Agent) []configs.Agent {
	if l.deps.OnLimit() != configs.FallBack {
		return []configs.Agent{own}
	}
	return l.deps.Fallbacks(own)
}

// usedUpUntil records that the member's current agent is used up, and returns when the
// member can continue: at once (zero) if there is another agent.
func (l *Logins) usedUpUntil(ctx context.Context, m *members.Member, until time.Time) (time.Time, error) {
	chain := l.chain(m.Agent)
	if len(chain) == 1 {
		return until, nil
	}
	used := map[string]time.Time{}
	l.change(m.Name, func(known *member) {
		for _, a := range chain { // agents that are no longer in the chain are dropped
			if at, ok := known.used[a.Name]; ok {
				used[a.Name] = at
			}
		}
		used[m.CurrentAgent().Name] = until
		known.used = used
	})
	_, until, _ = usable(chain, used, l.deps.Clock.Now())
	return until, l.deps.Store.Put(context.WithoutCancel(ctx), keyFallback(m.Name), texts.Encode(used))
}

// Switch selects the agent with which an idle member continues: its own if that has no
// limit, else the first fallback without one. It returns the agent, and whether it
// changed.
func (l *Logins) Switch(m *members.Member) (a configs.Agent, changed bool) {
	l.mu.Lock()
	used := l.of(m.Name).used
	l.mu.Unlock()
	before := m.CurrentAgent()
	if len(used) == 0 && before.Name == m.Agent.Name {
		return before, false
	}
	a, _, ok := usable(l.chain(m.Agent), used, l.deps.Clock.Now())
	if !ok || a.Name == before.Name {
		return before, false
	}
	news := events.AgentChanged{From: members.AgentName(before), To: members.AgentName(a)}
	if a.Name == m.Agent.Name {
		m.SwitchAgent(nil)
	} else {
		m.SwitchAgent(&a)
		news.Until = used[m.Agent.Name]
	}
	l.tell(m.Name, news)
	return a, true
}
