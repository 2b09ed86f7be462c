package launch_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// An agent program that leads says it with the same tool; nobody else can say it.
func TestProgramAnswersTheGoal(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, "steps: [{call: [{tool: SendMessage, input: {to: dev, message: go}}]}, {say: Asked., times: -1}]\n", "",
		act{When: "go", Do: []string{`mcp team_report {"answered":true,"report":"It is 41."}`}},
		act{When: "Ship it", Do: []string{`mcp team_report {"answered":true,"report":"It is 42."}`}})
	r.Want(r.RunAsRun(orchestrator.Options{}), orchestrator.CodeUnfinished, teamtest.NothingToShow)
	if got := toldFake(t, dir, "result"); len(got) != 1 || !strings.Contains(got[0], "only the lead, lead, can say") {
		t.Errorf("dev was told %q", got)
	}
	r.Rewrite("team.yaml", "lead: {model: lead}", "lead: {agent: fake}")
	r.Want(r.RunAsRun(orchestrator.Options{Fresh: true}), orchestrator.CodeDone, "all work is done")
}
