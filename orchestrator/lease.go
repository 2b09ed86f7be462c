package orchestrator

import (
	"context"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// leaseGrace is how long a member may be away before the tasks go back to the list that
// it has in progress. Who is started again has begun its session long before.
const leaseGrace = time.Minute

// reclaim is the actor that gives back tasks whose owner nobody runs: it is gone for
// good, or was never begun since covey was started, and somebody gave it work all the
// same. A member that is silent keeps its tasks, however long: whether it is at fault is
// for the watchdog and for people to say.
func reclaim(ctx context.Context, store *tasks.Store, at routine.Clock, changed func()) error {
	var before []string
	for {
		select {
		case <-at.After(leaseGrace): // no clock that is set can shorten that
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := store.Members().Lapsed(ctx)
		if err != nil {
			return err
		}
		for _, name := range now {
			if !slices.Contains(before, name) {
				continue // it has the whole time to come back
			}
			reason := "nobody has run " + name + " for " + leaseGrace.String()
			if _, err := store.Release(ctx, actors.Actor{}, name, reason); err != nil {
				return err
			}
			changed()
		}
		before = now
	}
}
