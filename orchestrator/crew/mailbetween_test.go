package crew_test

import (
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestMailBetweenToolCalls: a member that works sees what others write before
// its next request, not when its turn is over.
func TestMailBetweenToolCalls(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: one, subject: One, owner: dev}]\n",
		"lead.yaml": `steps:
  - {when: 'summary="ready\?"', call: [{tool: SendMessage, input: {to: dev, message: "Yes, go on."}}]}
  - {say: Very well., times: -1}
`,
		"dev.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: lead, message: "ready?"}}]
  - {when: "Yes, go on", call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: "Updated task", say: Done.}
  - {call: [{tool: TaskList, input: {}}], times: -1, delay: 5ms}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if n := r.TurnsOf("dev"); n != 1 {
		t.Errorf("dev took %d turns:\n%s", n, teamtest.Show(r.Lines.All()))
	}
}
