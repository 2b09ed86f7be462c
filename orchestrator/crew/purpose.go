package crew

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
)

// Purpose says what a run is for. The zero Purpose is a run in which all members work.
type Purpose struct {
	Trigger string              // of the Setup hooks that run first; empty: none do
	Setup   bool                // it ends when every session has begun
	Merge   *api.MergeRequest   // it merges finished work and ends
	Merged  func([]tasks.Merge) // is told what became of that
}

// Merges returns what the run merges, in words; empty: merging is not its purpose.
func (p Purpose) Merges() string {
	if p.Merge == nil {
		return ""
	}
	return p.Merge.String()
}

// prepared is why a run has ended that was to do nothing but that.
const prepared = "the workspace is prepared"

// setUp runs the Setup hooks, once for the team, in the lead's session.
func (c *Crew) setUp(ctx context.Context) error {
	if c.purpose.Trigger == "" || c.seats.Lead().Life.State().Gone != "" {
		return nil
	}
	if err := c.seats.Lead().mate.Setup(ctx, c.purpose.Trigger); err != nil {
		return fmt.Errorf("the Setup hooks: %w", err)
	}
	return nil
}

// atMerge merges what a run is only for, and ends it.
func (c *Crew) atMerge(ctx context.Context) (plan.Move, error) {
	done, err := c.work.Merges.MergeHere(ctx, *c.purpose.Merge)
	if err != nil {
		return plan.Move{}, err
	}
	c.purpose.Merged(done)
	return plan.Move{Kind: plan.Finish, Done: true, Reason: "merged " + c.purpose.Merge.String()}, nil
}
