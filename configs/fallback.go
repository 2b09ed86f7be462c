package configs

import "slices"

// Chain returns a and the agents that it may fall back to, one after another. It
// ends before an agent that it already has.
func (t *Team) Chain(a Agent) []Agent {
	chain := []Agent{a}
	for a.Fallback != "" {
		next, ok := t.Agents[a.Fallback]
		if !ok || slices.ContainsFunc(chain, func(b Agent) bool { return b.Name == next.Name }) {
			break
		}
		chain, a = append(chain, next), next
	}
	return chain
}

// AgentsOf returns the agent of a member and, if the budget has it fall back at a
// limit, those that it may fall back to.
func (t *Team) AgentsOf(m Member) []Agent {
	if t.Budget.OnLimit == FallBack {
		return t.Chain(m.Agent)
	}
	return []Agent{m.Agent}
}
