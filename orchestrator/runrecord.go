package orchestrator

import (
	"context"
	"time"
)

// guardEvery is the time between checks of trust.json and run.json.
const guardEvery = time.Second

// guardState checks trust.json and run.json until ctx ends: it undoes and reports changes
// by members' processes.
func (t *team) guardState(ctx context.Context) error {
	// The clock of the machine and not the Clock of tests, because the files are checked
	// and nothing waits for the time.
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			t.checkState()
		}
	}
}

// checkState checks both files once.
func (t *team) checkState() {
	t.trust.Check()
	restored, err := t.o.record.Restore(t.o.place)
	switch {
	case err != nil:
		t.Short.Note(err)
		t.Log.Error("run.json was changed and cannot be rewritten", "err", err)
	case restored:
		t.Journal.Warn("another program has changed the team's run.json; it was rewritten")
	}
}
