package crew_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestGatesAtOnce: of two members whose gates are to run at once, one waits, which ps shows and which
// does not count for its turn.
func TestGatesAtOnce(t *testing.T) {
	t.Parallel()
	step := func(id string) string {
		return `steps:
  - {when: Make ` + id + `, call: [{tool: TaskUpdate, input: {taskId: "` + id + `", status: completed}}]}
  - {say: done, times: -1}
`
	}
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: go
models: {lead: {provider: script, script: lead.yaml}, ana: {provider: script, script: ana.yaml}, ben: {provider: script, script: ben.yaml}}
lead: {model: lead}
teammates: {ana: {model: ana}, ben: {model: ben}}
tasks: [{id: a, subject: Make 1, owner: ana}, {id: b, subject: Make 2, owner: ben}]
gates: {at_once: 1, task: ['mkdir busy && while [ ! -e go ]; do sleep 0.01; done && rmdir busy']}
`,
		"lead.yaml": "steps: [{say: well, times: -1}]\n", "ana.yaml": step("1"), "ben.yaml": step("2"),
	})
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Until("gate", 2)
	testkit.Eventually(t, "one gate to wait for the other", func() bool {
		for _, name := range []string{"ana", "ben"} {
			if m := u.Member(name); m.WaitsFor == "other gates (1 at once)" && m.State == api.Waiting {
				return true
			}
		}
		return false
	})
	if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}
