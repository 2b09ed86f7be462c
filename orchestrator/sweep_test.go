package orchestrator_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestSweep: a run removes the new run.json of one that was killed before it was in its
// place, and nothing else; a run that finds the team running removes nothing.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": "steps: [{say: Yes.}]\n"})
	p := r.Place()
	if err := p.Create(); err != nil {
		t.Fatal(err)
	}
	testkit.Put(t, p.Dir, ".run.json.4711", "{")
	testkit.Put(t, p.Dir, ".run.jsonl", "somebody's own")
	left := func() string {
		found, err := filepath.Glob(filepath.Join(p.Dir, ".run*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		return strings.Join(found, " ")
	}
	lock, err := state.LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Orchestrator(orchestrator.Options{}).Run(t.Context()); !errors.Is(err, state.ErrRunning) || left() != ".run.json.4711 .run.jsonl" {
		t.Errorf("beside a run: %v, and there is %s", err, left())
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if left() != ".run.jsonl" {
		t.Errorf("after a run there is %s", left())
	}
}
