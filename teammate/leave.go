package teammate

import (
	"context"
)

// Leave says that the member has agreed to leave its team. It goes idle no more, so
// the end of its turn has one gate: Stop fires once, also where the turn is interrupted, and
// what it says has no effect. A TaskCompleted or TeammateIdle that has not begun does not
// fire; the member's tasks are not completed, they go back to the list.
//
// Leave ends nothing by itself: the caller interrupts the turn, and the inbox has no more
// work. It may be called at any time from any goroutine.
func (t *Teammate) Leave() { t.leaving.Store(true) }

// leaves reports whether a member has agreed to leave. A helper never has.
func (t *Teammate) leaves() bool { return t.helper == nil && t.leaving.Load() }

// lastStop fires the Stop of a member that leaves, unless its gates were asked already.
// An API error has fired StopFailure in its place.
//
// ctx is the member's and not the turn's, because an interrupt has ended the turn's.
func (u *turn) lastStop(ctx context.Context, end ending) {
	if !u.t.leaves() || u.gated || end.failure != nil || ctx.Err() != nil {
		return
	}
	u.at.try(ctx, u.stopInput())
}
