package orchestrator_test

import (
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

func TestTeamRunsToItsEnd(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + `
tasks:
  - {id: api, subject: Add the endpoint, description: GET /changes, owner: dev}
  - {id: docs, subject: Write it up, blocked_by: [api]}
`,
		"lead.yaml": `steps:
  - {say: "I let dev work.", when: "Ship it"}
  - {say: "dev did both.", when: "All tasks are completed"}
`,
		"dev.yaml": `steps:
  - when: "You own task #1: Add the endpoint"
    call: [{tool: TaskList}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: Task 1 is done.
  - when: "claimed task #2"
    call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]
  - say: Task 2 as well.
`,
	})
	ending := r.Run(orchestrator.Options{Hooks: r.Hold("dev", "TaskList", teamtest.TurnEnded("lead"))})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if ending.Answer != "dev did both." {
		t.Errorf("the last answer is %q", ending.Answer)
	}
	for _, task := range r.List() {
		if task.Status != tasks.Completed || task.Owner != "dev" {
			t.Errorf("task %s is %s, owned by %q", task.ID, task.Status, task.Owner)
		}
	}
	again := r.Run(orchestrator.Options{})
	r.Want(again, orchestrator.CodeDone, "nothing is new")
	if !again.AlreadyDone || again.Answer != "dev did both." {
		t.Errorf("the second run: already done %v, answer %q", again.AlreadyDone, again.Answer)
	}
}
