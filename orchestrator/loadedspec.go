package orchestrator

import (
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate/script"
)

// loadedSpec is a spec with everything that was read for it. It is immutable: a change of the
// spec replaces it as a whole.
type loadedSpec struct {
	team    *configs.Team
	scripts map[string]*script.Script // by path
	// programs are the agent programs, by the agents' names.
	programs map[string]launch.Found
	hooks    teamhooks.Layers
	prices   accounts.PriceList
	// filters are the filters of the repository's configuration that git may run, as of
	// when the spec was read.
	filters []worktree.Filter
}

// team returns the current spec.
func (o *Orchestrator) team() *configs.Team { return o.spec.Load().team }

// scripts returns the scripts of the spec's models, by path.
func (o *Orchestrator) scripts() map[string]*script.Script { return o.spec.Load().scripts }

// programs returns the agent programs of the spec, by the agents' names.
func (o *Orchestrator) programs() map[string]launch.Found { return o.spec.Load().programs }

// hooks returns the layers of hooks as of when the spec was read. The current ones are
// rooms.hooks.live.
func (o *Orchestrator) hooks() teamhooks.Layers { return o.spec.Load().hooks }

// prices returns what models cost, and how much they can read.
func (o *Orchestrator) prices() accounts.PriceList { return o.spec.Load().prices }

// staysUp reports whether the team stays up when all is done: the user wants it, or
// schedules will add work.
func (o *Orchestrator) staysUp() bool {
	return o.opts.Keep || o.team().Keep || len(o.team().Schedules) > 0
}

// withSpec sets the first spec.
func (o *Orchestrator) withSpec(d loadedSpec) *Orchestrator {
	o.spec.Store(&d)
	return o
}

// agentsOf lists an agent and its fallbacks, with the kinds that
// their programs turned out to have.
func (o *Orchestrator) agentsOf(a configs.Agent) []configs.Agent {
	chain := o.team().Chain(a)
	for i := range chain {
		if l, ok := o.programs()[chain[i].Name]; ok {
			chain[i].Kind = l.Kind(chain[i].Kind)
		}
	}
	return chain
}

// completesOnPass reports whether the current spec completes tasks in progress when a
// turn end passes its gates.
func (o *Orchestrator) completesOnPass() bool { return o.team().CompleteOnPass }
