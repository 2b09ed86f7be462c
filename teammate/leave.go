package teammate

import (
	"context"
)

// Leave says that the member has agreed to leave its team. It does not go idle again, so
// the end of its turn has one gate: Stop fires once, even if the turn is interrupted, and
// its decision has no effect. A TaskCompleted or TeammateIdle that has not begun does not
// fire; the member's tasks are not completed but returned to the list.
//
// Leave ends nothing by itself: the caller interrupts the turn, and the inbox supplies no
// more work. It may be called at any time from any goroutine.
func (t *Teammate) Leave() { t.leaving.Store(true) }

// leaves reports whether the member has agreed to leave. It is false for a helper.
func (t *Teammate) leaves() bool { return t.helper == nil && t.leaving.Load() }

// lastStop fires Stop for a member that leaves, unless its gates have run already. After
// an API error StopFailure replaces it.
//
// ctx is the member's and not the turn's, because an interrupt has ended the turn's.
func (u *turn) lastStop(ctx context.Context, end ending) {
	if !u.t.leaves() || u.gated || end.failure != nil || ctx.Err() != nil {
		return
	}
	u.at.try(ctx, u.stopInput())
}
