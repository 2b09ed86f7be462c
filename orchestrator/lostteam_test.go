package orchestrator_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// TestStoreOverwrittenInRun: a store that is overwritten while the team rests ends the run
// with one line that says what to do, and the next run has all that was committed.
func TestStoreOverwrittenInRun(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: First thing, owner: dev}]\nkeep: true\n",
		"lead.yaml": `steps: [{say: Go., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: Done., times: -1}
`,
	})
	o := r.Orchestrator(orchestrator.Options{})
	ended := make(chan error, 1)
	go func() {
		_, err := o.Run(t.Context())
		ended <- err
	}()
	r.Lines.Wait(t, "the task is completed", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	// A commit that is under way when the file is cut off can fail in a goroutine of
	// bbolt's, which nobody can recover from. So nothing is to be committed.
	for _, name := range []string{"lead", "dev"} {
		r.Lines.Wait(t, name+" is idle", func(l events.Line) bool { return l.Type == "idle" && l.Member == name })
	}
	if err := os.Truncate(o.Place().Store(), 0); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if !errors.Is(err, tasks.ErrReplaced) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "run covey up again") {
		t.Errorf("the run ended with %v", err)
	}
	r.Rewrite("team.yaml", "keep: true\n", "")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if list := r.List(); len(list) != 1 || list[0].Status != tasks.Completed {
		t.Errorf("tasks %+v", list)
	}
	checkStoreNumbers(r, o.Place())
}
