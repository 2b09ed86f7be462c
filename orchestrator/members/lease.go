package members

import (
	"context"
	"slices"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// leaseGrace is how long a member may be away before its tasks in progress become open
// again. A restarted member has begun its session long before.
const leaseGrace = time.Minute

// Reclaim opens the tasks of owners that nothing runs: the member is
// gone permanently, or was never started in this run and got work anyway. A silent member
// keeps its tasks; the watchdog and people decide about it. changed is called after each release.
//
// A member must be absent in two looks in a row, so its tasks are opened between one and
// two leaseGrace after it left. Reclaim returns ctx's error when ctx ends, and the store's
// if that fails, which ends the team.
func Reclaim(ctx context.Context, store *tasks.Store, clock Clock, changed func()) error {
	var before []string
	for {
		select {
		case <-clock.After(leaseGrace): // a timer, so that setting the clock cannot shorten it
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := store.Members().Lapsed(ctx)
		if err != nil {
			return err
		}
		for _, name := range now {
			if !slices.Contains(before, name) {
				continue // the grace period starts with each absence
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
