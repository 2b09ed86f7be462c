package orchestrator_test

import (
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestStalled: while the servers of the team are silent no turn begins, and afterwards the team goes
// on by itself.
func TestStalled(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec, "lead.yaml": "steps: [{say: done, times: -1}]", "dev.yaml": "steps: [{say: done, times: -1}]",
	})
	var asked atomic.Int32
	ending := r.Run(orchestrator.Options{Overrides: orchestrator.Overrides{Stalled: func() bool {
		if asked.Add(1) > 2 {
			return false
		}
		if r.TurnsOf("lead") > 0 {
			t.Error("a turn has begun while the servers are silent")
		}
		return true
	}}})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if asked.Load() < 3 || r.TurnsOf("lead") == 0 {
		t.Errorf("the lead has taken %d turns, and the servers were asked for %d times", r.TurnsOf("lead"), asked.Load())
	}
}
