package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// killStrays ends what members' tools have left running behind covey's back.
// The context that ended the team must not end this.
func killStrays(ctx context.Context, r *rooms) {
	if killed := r.processes.KillStrays(context.WithoutCancel(ctx)); len(killed) > 0 {
		r.journal.Tell(agent.Warning{Text: fmt.Sprintf("processes that tools had left running were killed: %v", killed)})
	}
}
