package crew_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// changes lists what happened to tasks: "op id by reason".
func changes(r *teamtest.Rig, op tasks.Op) (list []string) {
	r.T.Helper()
	for _, l := range r.Lines.All() {
		if l.Type != "task" {
			continue
		}
		var c tasks.Change
		if err := json.Unmarshal(l.Data, &c); err != nil {
			r.T.Fatal(err)
		}
		if c.Op == op {
			list = append(list, c.Task.ID+" by "+c.By+": "+c.Reason)
		}
	}
	return list
}

// onPass is a team whose member never says that a task is completed.
func onPass(gates string) map[string]string {
	return map[string]string{
		"team.yaml": testkit.PairSpec + "complete_on_pass: true\ntasks: [{id: a, subject: One, owner: dev}]\n" + gates,
		"lead.yaml": `steps: [{say: Go., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress, evidence: it compiles}}]
  - say: I believe that is it.
  - when: no proof
    call: [{tool: Bash, input: {command: touch proof}}]
  - say: Now.
    times: -1
`,
	}
}

// TestCompleteOnPass: what passes all gates at a turn end is completed by covey, and
// what one of them refuses is not.
func TestCompleteOnPass(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, onPass(`gates:
  task: ["test -f proof || { echo no proof; exit 1; }"]
  idle: [{policy: no-open-tasks}]
`))
	r.Rewrite("team.yaml", "dev: {model: dev}", "dev: {model: dev, permission_mode: bypassPermissions}")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if have := changes(r, tasks.TaskCompleted); len(have) != 1 || have[0] != "1 by : its member's turn end passed all gates" {
		t.Errorf("completed: %q", have)
	}
	if list := r.List(); list[0].Evidence[0].Text != "it compiles" || list[0].Evidence[0].By != "dev" {
		t.Errorf("evidence %+v", list[0].Evidence)
	}
	refused := false
	for _, l := range r.Lines.All() {
		refused = refused || l.Type == "hook_feedback" && strings.Contains(string(l.Data), "no proof")
	}
	if !refused {
		t.Errorf("the gate never refused:\n%s", teamtest.Show(r.Lines.All()))
	}
}

// TestNoCompletionWithoutTheKey: without the key a passing turn end completes nothing.
func TestNoCompletionWithoutTheKey(t *testing.T) {
	t.Parallel()
	files := onPass("")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "complete_on_pass: true\n", "", 1)
	r := teamtest.NewRig(t, files)
	if e := r.Run(orchestrator.Options{}); e.Code == orchestrator.CodeDone {
		t.Errorf("ended with %+v", e)
	}
	if have := changes(r, tasks.TaskCompleted); len(have) != 0 {
		t.Errorf("completed: %q", have)
	}
}
