package crew

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
)

// Purpose is what a run is for. In a run with the zero Purpose all members work.
type Purpose struct {
	Trigger string              // trigger of the Setup hooks that run first; empty: none run
	Setup   bool                // the run ends when every session has begun
	Merge   *api.MergeRequest   // the run merges finished work and ends; nil: it does not
	Merged  func([]tasks.Merge) // receives the merges
	// Decide decides calls of members that do not work, and then the run ends; nil: it does not.
	Decide func(context.Context, *Seats) error

	// Host hosts members of a team that another host leads, until ctx ends; nil: it is no such run.
	Host func(ctx context.Context) error

	// Unjudged names one member for each folder in which files were changed without a task that
	// gates could have judged; nil: nothing of the kind is asked.
	Unjudged func(context.Context) []string
	// Judge completes a task in covey's name, as its gates see the folder of its owner. If they
	// refuse, it returns their feedback. It takes as long as they do.
	Judge func(ctx context.Context, owner *Seat, task string) (feedback string, err error)
}

// Works reports whether members take turns.
func (p Purpose) Works() bool { return p.Merge == nil && !p.Setup && p.Decide == nil && p.Host == nil }

// Merges describes what the run merges; empty if it is not for merging.
func (p Purpose) Merges() string {
	if p.Merge == nil {
		return ""
	}
	return p.Merge.String()
}

// prepared is the reason for the end of a run that only prepares the workspace.
const prepared = "the workspace is prepared"

// setUp runs the Setup hooks, once for the team, in the lead's session.
//
// It runs before any member's session begins, because what it prepares, such as installed
// packages, is for all of them.
func (d *director) setUp(ctx context.Context) error {
	if d.purpose.Trigger == "" || d.c.deps.Seats.Lead().Life.State().Gone != "" {
		return nil
	}
	if err := d.c.deps.Seats.Lead().occupant.Teammate.Setup(ctx, d.purpose.Trigger); err != nil {
		return fmt.Errorf("the Setup hooks: %w", err)
	}
	return nil
}

// atMerge runs a run that only merges.
func (d *director) atMerge(ctx context.Context) (plan.Move, error) {
	done, err := d.c.deps.Merges.MergeHere(ctx, *d.purpose.Merge)
	if err != nil {
		return plan.Move{}, err
	}
	d.purpose.Merged(done)
	return plan.Move{Kind: plan.Finish, Done: true, Reason: merging.Became(*d.purpose.Merge, done)}, nil
}

// atHost runs a run that hosts members of another team.
func (d *director) atHost(ctx context.Context) (plan.Move, error) {
	return plan.Move{Kind: plan.Finish, Reason: "it hosts no members any more"}, d.purpose.Host(ctx)
}

// atDecide runs a run that only decides calls.
func (d *director) atDecide(ctx context.Context) (plan.Move, error) {
	return plan.Move{Kind: plan.Finish, Done: true, Reason: "the calls are decided"}, d.purpose.Decide(ctx, d.c.deps.Seats)
}
