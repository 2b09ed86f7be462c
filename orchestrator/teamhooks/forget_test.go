package teamhooks

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/members"
)

// A member's next life has none of the hooks in the background of the one before.
func TestForget(t *testing.T) {
	ended := 0
	b := NewBackground(nil, members.Clock{}, func() { ended++ }, nil)
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
}
