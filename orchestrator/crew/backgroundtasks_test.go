//go:build unix

package crew_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// A lead's Stop lists the teammates that have not ended, as recorded; a teammate's
// own Stop, as one of a process of its own, lists none. The teammate ends only when the lead's
// first Stop has listed it.
func TestStopListsTeammates(t *testing.T) {
	t.Parallel()
	const first, second = `[{"id":"ID","type":"teammate","status":"running","description":"worker desc"},` +
		`{"id":"ID","type":"teammate","status":"running","description":"rev"}]`,
		`[{"id":"ID","type":"teammate","status":"running","description":"rev"}]`
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {model: dev}\n",
			"  dev: {model: dev, description: worker desc}\n  rev: {model: dev}\n", 1) + `
tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: lead}]
hooks:
  Stop: [{hooks: [{type: command, command: "cat >> stops"}]}]
  TeammateIdle: [{hooks: [{type: command, command: "until grep -qv teammate_name stops; do sleep 0.05; done; echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]}]
`,
		"lead.yaml": `steps: [{call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}, {say: Next., times: -1}]`,
		"dev.yaml":  `steps: [{call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}, {say: Done.}]`,
	})
	r.Run(orchestrator.Options{})
	id := regexp.MustCompile(`"t[0-9a-f]{8}"`)
	var lead []string
	ids := map[string]bool{}
	for line := range strings.Lines(r.Read("stops")) {
		var in struct {
			Last  string          `json:"last_assistant_message"`
			Name  string          `json:"teammate_name"`
			Tasks json.RawMessage `json:"background_tasks"`
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatal(err)
		}
		if in.Name != "" {
			if string(in.Tasks) != "[]" {
				t.Errorf("the Stop of %s lists %s", in.Name, in.Tasks)
			}
			continue
		}
		for _, one := range id.FindAllString(string(in.Tasks), -1) {
			ids[one] = true
		}
		lead = append(lead, id.ReplaceAllString(string(in.Tasks), `"ID"`))
	}
	if len(lead) < 2 || lead[0] != first || lead[len(lead)-1] != second || len(ids) != 2 {
		t.Errorf("the lead's Stops list %s, ids %v; want %s at first and %s in the end", slices.Compact(lead), ids, first, second)
	}
}
