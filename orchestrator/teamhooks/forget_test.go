package teamhooks

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/members"
)

// A member's next life has none of the hooks in the background of the one before.
func TestForget(t *testing.T) {
	ended, waits := 0, ""
	b := NewBackground(nil, members.Clock{}, func() { ended++ }, func(member string, e events.Data) {
		waits += member + ": " + e.(events.Waiting).For + "; "
	})
	started := hooks.Progress{Command: "make watch", Background: &hooks.Background{ID: "1", Rewake: true}}
	b.Observe(t.Context(), "dev", started)
	b.Observe(t.Context(), "dev", hooks.Progress{Command: "tail", Background: &hooks.Background{ID: "2"}})
	b.Observe(t.Context(), "ops", started)
	if err := b.Left(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if devs := b.Commands("dev"); b.MayWake("dev") || len(devs) != 0 || !b.MayWake("ops") {
		t.Errorf("dev has %q, ops has %q", devs, b.Commands("ops"))
	}
	if want := "dev: hook make watch; ops: hook make watch; dev: ; "; waits != want {
		t.Errorf("told %q, want %q", waits, want)
	}
	done := started
	done.Result = &hooks.Result{}
	if b.Observe(t.Context(), "dev", done); ended != 1 {
		t.Errorf("the end of a hook that was forgotten was told %d times", ended)
	}
}
