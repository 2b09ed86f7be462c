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
func (o *Orchestrator) guardState(ctx context.Context, c *crew) error {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			o.lookAtState(c)
		}
	}
}

// lookAtState looks once.
func (o *Orchestrator) lookAtState(c *crew) {
	c.trust.Look()
	restored, err := o.record.Restore(o.place)
	switch {
	case err != nil:
		c.short.Note(err)
		c.log.Error("run.json is not as the team has written it, and cannot be written anew", "err", err)
	case restored:
		c.journal.Tell(agent.Warning{Text: "something other than this team has changed its run.json; it was written anew"})
	}
}
