package hooking

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/routine"
)

// A member's next life has neither the hooks in the background of the one before nor, if
// the member had left the team, its counts.
func TestForget(t *testing.T) {
	ended := 0
	b := NewBackground(nil, routine.Clock{}, func() { ended++ }, nil)
	started := hooks.Progress{Command: "make watch", Background: &hooks.Background{ID: "1", Rewake: true}}
	b.Observe(t.Context(), "dev", started)
	b.Observe(t.Context(), "ops", started)
	if err := b.Left(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	devs, _ := b.Commands("dev")
	opss, wakes := b.Commands("ops")
	if b.MayWake("dev") || len(devs) != 0 || !b.MayWake("ops") || !wakes {
		t.Errorf("dev has %q, ops has %q", devs, opss)
	}
	done := started
	done.Result = &hooks.Result{}
	if b.Observe(t.Context(), "dev", done); ended != 1 {
		t.Errorf("the end of a hook that was forgotten was told %d times", ended)
	}

	var counts Tallies
	for _, member := range []string{"dev", "ops"} {
		counts.Add(member, hooklist.End{Command: "make lint", FailedOpen: true})
	}
	if err := counts.Left(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if counts.Of("dev").FailedOpen() != 0 || counts.Of("dev", "ops").FailedOpen() != 1 {
		t.Errorf("dev has %d, both have %d", counts.Of("dev").FailedOpen(), counts.Of("dev", "ops").FailedOpen())
	}
}
