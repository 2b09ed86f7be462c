package orchestrator

import (
	"context"
	"time"
)

// guardEvery is the time between checks of trust.json and run.json.
const guardEvery = time.Second

// guardState checks trust.json and run.json until ctx ends: it undoes and reports changes
// by members' processes.
func (o *Orchestrator) guardState(ctx context.Context, r *rooms) error {
	// The clock of the machine and not the Clock of tests, because the files are checked
	// and nothing waits for the time.
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			o.checkState(r)
		}
	}
}

// checkState checks both files once.
func (o *Orchestrator) checkState(r *rooms) {
	r.trust.Check()
	restored, err := o.record.Restore(o.place)
	switch {
	case err != nil:
		r.short.Note(err)
		r.log.Error("run.json was changed and cannot be rewritten", "err", err)
	case restored:
		r.journal.Warn("another program has changed the team's run.json; it was rewritten")
	}
}
