package orchestrator

import (
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate/script"
)

// design is a spec with all that was read for it. It is a value: where a spec
// changes while its team runs, another takes its place as a whole, so that nobody
// sees the half of one.
type design struct {
	team    *configs.Team
	scripts map[string]*script.Script // by path
	// programs are the agent programs, by the agents' names.
	programs map[string]launch.Found
	hooks    hooklist.Layers
	prices   budget.PriceList
	// filters are those of the repository's own configuration that git may run, as they were
	// when the spec was read.
	filters []worktree.Filter
}

// team is the spec that counts now.
func (o *Orchestrator) team() *configs.Team { return o.design.Load().team }

// scripts are those of the spec's models, by path.
func (o *Orchestrator) scripts() map[string]*script.Script { return o.design.Load().scripts }

// programs are the agent programs of the spec, by the agents' names.
func (o *Orchestrator) programs() map[string]launch.Found { return o.design.Load().programs }

// hooks are the layers of hooks as they were when the spec was read. Those that
// count by now are the team's (rooms.hooks.live).
func (o *Orchestrator) hooks() hooklist.Layers { return o.design.Load().hooks }

// staysUp reports whether the team stays up when all is done: somebody wants it to,
// or there is more to come by itself.
func (o *Orchestrator) staysUp() bool {
	return o.opts.Keep || o.team().Keep || len(o.team().Schedules) > 0
}

// designed gives an Orchestrator its first design.
func (o *Orchestrator) designed(d design) *Orchestrator {
	o.design.Store(&d)
	return o
}
