package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
)

// TestMaskOfASpecWithWarnings: a Masker reads a spec that has warnings without printing them, also
// while it masks what covey prints.
func TestMaskOfASpecWithWarnings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Put(t, dir, "team.yaml", testkit.SoloSpec+"teammates: {w: {model: lead}}\ntasks: [{subject: One, wants: {role: nobody}}]\n")
	testkit.Put(t, dir, "lead.yaml", "steps: [{say: hello}]\n")
	place, err := state.PlaceIn(t.TempDir(), "crew", dir)
	testkit.Must(t, err)
	testkit.Must(t, place.Create())
	run := state.NewRunFile(place, time.Now(), 1)
	run.Spec = dir + "/team.yaml"
	testkit.Must(t, run.Write(place))
	var printed bytes.Buffer
	env := &Env{Err: term.NewScreen(&printed)}
	m := &Masker{Env: env, Place: place}
	env.Err.Mask = m.Mask
	if team, err := env.specOf(place); err != nil || len(team.Warnings) == 0 {
		t.Fatalf("%v; want a spec with a warning", err)
	}
	if got := m.Mask("a text without secrets"); got != "a text without secrets" || printed.Len() > 0 {
		t.Errorf("%q, printed %q", got, &printed)
	}
}
