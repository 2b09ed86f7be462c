package orchestrator

import "github.com/coveyteam/covey/configs"

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
