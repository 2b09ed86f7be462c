package orchestrator

import (
	"context"
	"time"

	"github.com/coveyteam/covey/tasks"
)

// RunWith is Run with a store that the caller has opened and closes.
func (o *Orchestrator) RunWith(ctx context.Context, store *tasks.Store) (Ending, error) {
	defer o.readers.end()
	return o.withStore(ctx, store, thisRun{started: time.Now()})
}
