package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// newDesk makes what merges the work of a crew's members.
func newDesk(o *Orchestrator, c *crew) *merging.Desk {
	return merging.New(merging.Options{
		Place: o.place, Store: c.store, Journal: c.journal, Clock: c.clock, Log: c.log,
		Trees: c.work.trees, Members: deskMembers{c}, Inbox: c.asks, Tallies: &c.hooks.live.Tallies,
		Team: o.team, Environ: launch.ChildEnvironment(o.opts.Bin, o.place),
		GateEnv: c.hooks.settings.Environ,
		Spawned: func(pid int, h runner.Spawn) func() {
			return c.processes.RegisterHook(pid, process.Owner{Kind: process.Hook}, hooking.RunOf(h.Input, h.Depth))
		},
		SessionOf: c.seating.sessionOf,
		Landing:   c.work.writes.Landing, Notify: (alarms{c}).notifyPeople, Changed: c.loop.Poke,
	})
}

// deskMembers are a crew's members as merging.Members.
type deskMembers struct{ crew *crew }

func (m deskMembers) All() []*roster.Member { return m.crew.seating.members() }

func (m deskMembers) StateOf(member string) (lives.State, bool) {
	s, ok := m.crew.seating.of(member)
	if !ok {
		return lives.State{}, false
	}
	return s.life.State(), true
}

// atMerge merges what a run is only for, and ends it.
func (c *crew) atMerge(ctx context.Context) (plan.Move, error) {
	done, err := c.work.merges.MergeHere(ctx, *c.only.merge)
	if err != nil {
		return plan.Move{}, err
	}
	c.only.merged(done)
	return plan.Move{Kind: plan.Finish, Done: true, Reason: "merged " + c.only.merge.String()}, nil
}
