package orchestrator

import "github.com/coveyteam/covey/configs"

// agentsOf returns a function that lists an agent and its fallbacks, with the kinds that
// their programs turned out to have.
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
