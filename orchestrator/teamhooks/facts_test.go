package teamhooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestFactsOfARefusedTask: a fold of the journal knows who refused a task, in which turn, and what
// came of it; and what was said in each turn of the work.
func TestFactsOfARefusedTask(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.ReplaceAll(testkit.PairSpec, "dev: {model: dev}\n", "dev: {model: dev, permission_mode: bypassPermissions}\n") + `
tasks: [{id: a, subject: One, owner: dev}]
gates:
  task: ["test -f proof || { echo no proof yet; exit 1; }"]
`,
		"lead.yaml": `steps: [{say: Go.}, {say: All done.}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: It is done.
  - call: [{tool: Bash, input: {command: touch proof}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: Now it is.
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	r.WantGates("dev", "TaskCompleted tool 1 refused", "TaskCompleted turn_end 1 refused", "TaskCompleted tool 1 agreed")
	state := r.Facts()
	task, dev := state.Task("1"), state.Member("dev")
	if task.Refusals != 2 || len(task.Returns) != 2 || task.Returns[0].Reason != "no proof yet" ||
		task.Returns[0].Turn != 1 || !strings.HasPrefix(task.Returns[1].By, "test -f proof") {
		t.Errorf("task 1 was sent back as %+v", task.Returns)
	}
	if len(task.Owners) != 1 || task.Owners[0].Owner != "dev" || task.Owners[0].End != "completed" || task.Completed.IsZero() {
		t.Errorf("task 1 belonged to %+v", task.Owners)
	}
	if len(task.Spans) != 1 || task.Spans[0].Member != "dev" || task.Spans[0].Turn != 1 {
		t.Errorf("task 1 was worked on in %+v", task.Spans)
	}
	if dev.State != api.Ended || !slices.Equal(dev.Done.Completed, []string{"1"}) || dev.Unread != 0 {
		t.Errorf("dev %+v", dev)
	}
	if run := state.Run(); run.Workspace == "" || !strings.HasSuffix(run.Spec, "team.yaml") || run.Turns.Completed != 1 {
		t.Errorf("the run %+v", run)
	}
	if needs := state.Needs(); len(needs) > 0 {
		t.Errorf("needs %+v", needs)
	}
}
