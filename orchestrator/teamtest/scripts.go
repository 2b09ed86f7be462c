package teamtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
)

// toil is a member that works for ever at whatever it is given; each of its
// requests uses 100 tokens.
const toil = `usage: {input_tokens: 90, output_tokens: 10}
steps:
  - {when: '^You own task', call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]}
  - {when: 'Finish and hand over', call: [{tool: TaskUpdate, input: {taskId: "1", metadata: {left: all}}}], times: -1}
  - {when: 'own open tasks', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed, metadata: {left: none}}}]}
  - {when: 'Updated task.*metadata', say: Handed over., times: -1}
  - {call: [{tool: Bash, input: {command: "true"}}], times: -1}
`

// Toilers are members that toil, for a lead that leaves it to them. more stands
// in the spec, limits at each of them.
func Toilers(more, limits string, names ...string) map[string]string {
	spec := "covey: 1\nname: crew\ngoal: Ship it.\nmodels:\n  lead: {provider: script, script: lead.yaml}\n"
	var members, list strings.Builder
	files := map[string]string{"lead.yaml": "usage: {input_tokens: 1}\nsteps: [{say: \"I leave it to them.\", times: -1}]\n"}
	for i, name := range names {
		spec += fmt.Sprintf("  %[1]s: {provider: script, script: %[1]s.yaml}\n", name)
		fmt.Fprintf(&members, "  %s: {model: %s%s}\n", name, name, limits)
		fmt.Fprintf(&list, "  - {id: t%d, subject: Toil, owner: %s}\n", i, name)
		files[name+".yaml"] = strings.NewReplacer(`"1"`, fmt.Sprintf("%q", fmt.Sprint(i+1)), "#1",
			fmt.Sprint("#", i+1)).Replace(toil)
	}
	files["team.yaml"] = spec + "defaults: {permission_mode: bypassPermissions}\nlead: {model: lead}\nteammates:\n" +
		members.String() + "tasks:\n" + list.String() + more
	return files
}

// TranscriptOf is the text of all transcripts of a member.
func (r *Rig) TranscriptOf(member string) string {
	r.T.Helper()
	place := r.Place()
	paths, err := filepath.Glob(filepath.Join(place.Transcripts(), member, "*.jsonl"))
	if err != nil || len(paths) != 1 {
		r.T.Fatalf("transcripts of %s: %v, %v", member, paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		r.T.Fatal(err)
	}
	return string(data)
}

// LeadLetsWork is a lead that leaves it all to the others.
const LeadLetsWork = `steps:
  - {when: "All tasks are completed", say: All done.}
  - {say: Fine., times: 50}
`

// Feedbacks are what the gates have said to a member at turn ends, and at completions.
func (r *Rig) Feedbacks() (list []string) {
	for _, f := range Of[events.HookFeedback](r, "hook_feedback") {
		list = append(list, f.Text)
	}
	return list
}

// Warnings are what people were told that has words in it.
func (r *Rig) Warnings(words string) (list []string) {
	for _, w := range Of[events.Warning](r, "warning") {
		if strings.Contains(w.Text, words) {
			list = append(list, w.Text)
		}
	}
	return list
}

// Planned is a team whose dev must plan, with what the spec has besides.
func Planned(lead, more string) map[string]string {
	return map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {model: dev}\n", "  dev: {model: dev, plan: required}\n", 1) +
			"defaults: {permission_mode: bypassPermissions}\n" + more + "tasks: [{id: a, subject: Make it, owner: dev}]\n",
		"lead.yaml": lead,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: "echo early >>made"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - call: [{tool: ExitPlanMode, input: {plan: "one, two"}}]
  - when: "approve\":false"
    call: [{tool: ExitPlanMode, input: {plan: "one, two, three"}}]
  - when: ("approve":true|has approved your plan)
    call: [{tool: Bash, input: {command: "echo ran >>made"}}, {tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: submitted to
    say: I wait.
    times: 2
  - {say: done, times: -1}
`,
	}
}

// What the lead says to anything else comes last: it may meet the plan already in
// the turn for its goal.
const LeadDecides = `steps:
  - when: '"type":"plan_approval_request"'
    call: [{tool: SendMessage, input: {type: plan_approval_response, recipient: dev, request_id: dev, approve: false, content: and three}}]
  - when: '"type":"plan_approval_request"'
    call: [{tool: SendMessage, input: {to: dev, message: {type: plan_approval_response, request_id: dev, approve: true, permissionMode: bypassPermissions}}}]
  - {say: well, times: -1}
`

func CauseIn(t *testing.T, l events.Line) events.Cause {
	t.Helper()
	var data events.TurnStarted
	if err := json.Unmarshal(l.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data.Cause
}

const SharedWork = "defaults: {permission_mode: bypassPermissions, isolation: shared}\ngates: {stop: [{policy: work-committed}]}\n"
