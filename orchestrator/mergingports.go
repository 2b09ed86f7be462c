package orchestrator

import (
	"os"

	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
)

// newDesk returns what merges the work of a team's members.
func newDesk(o *Orchestrator, r *rooms) *merging.Merger {
	return merging.New(merging.Options{
		Place: o.place, Store: r.store, Journal: r.journal, Clock: r.clock, Log: r.log,
		Trees: r.work.Trees, Members: &r.seats, Inbox: r.asks, State: r.state,
		Team: o.team, Environ: launch.ChildEnvironment(o.opts.Bin, o.place),
		GateEnv: r.hooks.settings.Environ, Slots: r.work.Slots,
		Spawned: func(pid int, h runner.Spawn) func() {
			return r.processes.RegisterHook(pid, process.Owner{Kind: process.Hook}, teamhooks.RunOf(h.Input, h.Depth))
		},
		Landing: r.work.Writes.Landing,
		Changed: r.loop.Poke, Over: r.loop.Over(),
		// Read at each call: the spec, and with it the variables that hold keys, may change
		// while the team runs.
		Mask: func(text string) string { return texts.Mask(text, launch.Secrets(o.team(), os.Environ())) },
	})
}
