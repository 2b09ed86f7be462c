package crew_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestReportIsOwedAfterARestart ends a team between a completion and its
// report.
func TestReportIsOwedAfterARestart(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: One, owner: dev}]\ngates: {idle: [{policy: report-sent}]}\n",
		"lead.yaml": `steps: [{say: Hm., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {error: {type: billing_error}, times: 9}
  - {when: "the lead has not heard of it", call: [{tool: SendMessage, input: {to: lead, message: One is done.}}]}
  - {say: Yes., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "billing_error")
	r.Rewrite("dev.yaml", "{error: {type: billing_error}, times: 9}",
		`{when: 'claimed task #2', call: [{tool: TaskUpdate, input: {taskId: "2", status: deleted}}], times: 9}`)
	r.Rewrite("team.yaml", "subject: One, owner: dev}", "subject: One, owner: dev}, {id: b, subject: Two}")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	var feedback []string
	for _, f := range teamtest.Of[events.HookFeedback](r, "hook_feedback") {
		feedback = append(feedback, f.Text)
	}
	if len(feedback) != 1 || !strings.Contains(feedback[0],
		"You have completed task 1 and the lead has not heard of it") {
		t.Errorf("the policy said %q; it should want the report on task 1 once", feedback)
	}
}
