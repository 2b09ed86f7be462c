package login

import (
	"context"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/roster"
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
func (l *Logins) chain(own configs.Agent) []configs.Agent {
	if l.ports.OnLimit() != configs.FallBack {
		return []configs.Agent{own}
	}
	return l.ports.Fallbacks(own)
}

// usedUpUntil notes that the agent which a member has now is used up, and says
// when it can go on: at once (zero), if there is another to fall back to.
func (l *Logins) usedUpUntil(ctx context.Context, m *roster.Member, until time.Time) (time.Time, error) {
	chain := l.chain(m.Agent)
	if len(chain) == 1 {
		return until, nil
	}
	used := map[string]time.Time{}
	l.change(m.Name, func(known *member) {
		for _, a := range chain { // what is no agent of its any more is forgotten
			if at, ok := known.used[a.Name]; ok {
				used[a.Name] = at
			}
		}
		used[m.CurrentAgent().Name] = until
		known.used = used
	})
	_, until, _ = usable(chain, used, l.ports.Clock.Now())
	return until, l.ports.Store.Put(context.WithoutCancel(ctx), keyFallback(m.Name), notation.Encode(used))
}

// Switch gives an idle member the agent that it is to go on with: its own as soon as that
// has no limit any more, else the first that has none. It returns that, and whether it is another.
func (l *Logins) Switch(m *roster.Member, turn int) (a configs.Agent, changed bool) {
	l.mu.Lock()
	used := l.of(m.Name).used
	l.mu.Unlock()
	before := m.CurrentAgent()
	if len(used) == 0 && before.Name == m.Agent.Name {
		return before, false
	}
	a, _, ok := usable(l.chain(m.Agent), used, l.ports.Clock.Now())
	if !ok || a.Name == before.Name {
		return before, false
	}
	news := AgentChanged{From: roster.AgentName(before), To: roster.AgentName(a)}
	if a.Name == m.Agent.Name {
		m.SwitchAgent(nil)
	} else {
		m.SwitchAgent(&a)
		news.Until = used[m.Agent.Name]
	}
	l.ports.Journal.Append(agent.Event{Member: m.Name, Turn: turn, Data: news})
	return a, true
}
