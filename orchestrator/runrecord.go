package orchestrator

import (
	"context"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// guardEvery is how often a team looks at trust.json and run.json.
const guardEvery = time.Second

// guardState looks at trust.json and run.json until ctx ends: what a member's process has
// written there is undone and told of.
func (o *Orchestrator) guardState(ctx context.Context, r *rooms) error {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			o.lookAtState(r)
		}
	}
}

// lookAtState looks once.
func (o *Orchestrator) lookAtState(r *rooms) {
	r.trust.Check()
	restored, err := o.record.Restore(o.place)
	switch {
	case err != nil:
		r.short.Note(err)
		r.log.Error("run.json is not as the team has written it, and cannot be written anew", "err", err)
	case restored:
		r.journal.Tell(agent.Warning{Text: "something other than this team has changed its run.json; it was written anew"})
	}
}
