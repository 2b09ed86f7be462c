package orchestrator_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// warned waits for so many warnings with these words.
func warned(l *teamtest.Living, words string, times int) {
	l.T.Helper()
	n := 0
	l.Lines.Wait(l.T, "a warning: "+words, func(line events.Line) bool {
		if line.Type == "warning" && strings.Contains(string(line.Data), words) {
			n++
		}
		return n == times
	})
}

// A member that cannot be seated has no seat, so that nothing calls upon it, and gets one by the
// next covey up after the trouble is over.
func TestNewMemberCannotBeSeated(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, map[string]string{"ana.yaml": "steps: [{say: Fine., times: -1}]"})
	blocked := filepath.Join(l.O.Place().Transcripts(), "ana")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	grown := teamtest.LivingSpec + "  ana: {model: {provider: script, script: ana.yaml}}\n"
	testkit.Put(t, l.Dir, "team.yaml", grown)
	if _, err := l.Ask(api.ApplySpec{}); err != nil {
		t.Fatal(err)
	}
	warned(l, "no place in the team yet", 1)
	testkit.Put(t, l.Dir, "team.yaml", strings.Replace(grown, "Ship it.", "Sail it.", 1))
	if _, err := l.Ask(api.ApplySpec{}); err != nil {
		t.Fatal(err)
	}
	warned(l, "no place in the team yet", 2)
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if change, err := l.Ask(api.ApplySpec{}); err != nil || len(change.Members) != 1 || change.Members[0].Name != "ana" {
		t.Fatalf("%+v, %v", change, err)
	}
	l.Lines.Wait(t, "ana to begin", func(line events.Line) bool {
		return line.Type == "member_started" &&
			line.Member == "ana"
	})
}

// A member that cannot begin anew stays in its old seat without turns.
func TestMemberCannotBeginAnew(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, nil)
	found, err := filepath.Glob(filepath.Join(l.O.Place().Transcripts(), "dev", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := errors.Join(os.Remove(found[0]), os.Mkdir(found[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	for i, description := range []string{"one", "two"} {
		testkit.Put(t, l.Dir, "team.yaml", strings.Replace(teamtest.LivingSpec, "{model: dev}",
			"{model: dev, description: "+description+"}", 1))
		if _, err := l.Ask(api.ApplySpec{}); err != nil {
			t.Fatal(err)
		}
		warned(l, "it could not be started", i+1)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	testkit.Put(t, l.Dir, "team.yaml", teamtest.LivingSpec)
	if _, err := l.Ask(api.ApplySpec{}); err != nil {
		t.Fatal(err)
	}
	began := 0
	l.Lines.Wait(t, "dev to begin anew", func(line events.Line) bool {
		if line.Type == "member_started" && line.Member == "dev" {
			began++
		}
		return began == 2
	})
}

// A change of the spec that is committed counts, also when run.json cannot be written.
func TestSpecCountsWithoutItsRunFile(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, map[string]string{"ana.yaml": "steps: [{say: Fine., times: -1}]"})
	path := l.O.Place().RunFile()
	testkit.Put(t, l.Dir, "team.yaml", teamtest.LivingSpec+"  ana: {model: {provider: script, script: ana.yaml}}\n")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Ask(api.ApplySpec{}); err != nil {
		t.Errorf("it was not taken up: %v", err)
	}
	warned(l, "run.json does not say so yet", 1)
	l.Lines.Wait(t, "ana to begin", func(line events.Line) bool {
		return line.Type == "member_started" &&
			line.Member == "ana"
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	warned(l, "it was rewritten", 1)
	if run, err := state.ReadRunFile(l.O.Place()); err != nil || len(run.Members) != 3 {
		t.Errorf("%+v, %v", run, err)
	}
}
