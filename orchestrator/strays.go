package orchestrator

import (
	"context"
)

// killStrays ends processes that members' tools have left running. It ignores the end of
// ctx, which may have ended the team.
func killStrays(ctx context.Context, r *rooms) {
	if killed := r.processes.KillStrays(context.WithoutCancel(ctx)); len(killed) > 0 {
		r.journal.Warn("processes that tools had left running were killed: %v", killed)
	}
}
