package orchestrator

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
)

// fakeSpec is a team with a builtin lead and a member whose agent is the fake.
// The two verbs are the fake's folder and program.
const fakeSpec = `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
agents:
  fake: {use: acp, command: [%q], env: {` + fakeVariable + `: %q}}
lead: {model: lead}
teammates:
  dev: {agent: fake}
`

// newFakeRig is a rig with a fake member, whose acts are these. More follows
// the spec.
func newFakeRig(t *testing.T, lead, more string, acts ...act) (*rig, string) {
	t.Helper()
	dir := t.TempDir()
	program := testBinary(t)
	r := newRig(t, map[string]string{"team.yaml": fmt.Sprintf(fakeSpec, program, dir) + more, "lead.yaml": lead})
	setPlay(t, dir, play{Scenes: acts})
	return r, dir
}

func setPlay(t *testing.T, dir string, p play) {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "play.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// told are the lines of the fake's log that begin with a word, without it.
func toldFake(t *testing.T, dir, word string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word+" "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}

// leadLetsWork is a lead that leaves it all to the others.
const leadLetsWork = `steps:
  - {when: "All tasks are completed", say: All done.}
  - {say: Fine., times: 50}
`

func TestAgentProgramDoesATask(t *testing.T) {
	r, dir := newFakeRig(t, leadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n", act{When: "You own task #1", Do: []string{
		`mcp team_task_claim {"taskId":"1"}`,
		`edit proof here`,
		`mcp team_send_message {"to":"lead","message":"proof is written","summary":"proof"}`,
		`mcp team_task_update {"taskId":"1","status":"completed"}`,
		"cost 0.5", "say One is done.",
	}})
	e := r.run(Options{})
	r.want(e, CodeDone, "all work is done")
	if list := r.list(); list[0].Status != tasks.Completed || list[0].Owner != "dev" {
		t.Errorf("the task is %+v", list[0])
	}
	if r.read("proof") != "here" {
		t.Error("the file was not written in the workspace")
	}
	started := of[teammate.MemberStarted](r, "member_started")
	if i := slices.IndexFunc(started, func(m teammate.MemberStarted) bool { return m.Agent == "acp/"+filepath.Base(testBinary(t)) }); i < 0 {
		t.Errorf("the members' agents are %+v", started)
	}
	prompt := strings.Join(toldFake(t, dir, "prompt"), "\n")
	for _, words := range []string{
		"You are dev, a teammate of the team crew", "claim it with team_task_claim", "set it to completed with team_task_update",
	} {
		if !strings.Contains(prompt, words) {
			t.Errorf("the prompt lacks %q:\n%s", words, prompt)
		}
	}
	if strings.Contains(prompt, "TaskUpdate") || strings.Contains(prompt, "SendMessage") {
		t.Errorf("the prompt names tools that the program has not:\n%s", prompt)
	}
	ends := of[teammate.TurnEnded](r, "turn_ended")
	i := slices.IndexFunc(ends, func(e teammate.TurnEnded) bool { return e.CostUSD > 0 })
	if i < 0 || ends[i].CostUSD != 0.5 || ends[i].Usage.InputTokens != 100 || ends[i].UsageUnknown {
		t.Errorf("the turns cost %+v", ends)
	}
	for _, c := range of[teammate.PermissionDecided](r, "permission") {
		t.Errorf("somebody was asked: %+v", c)
	}
}
