package launch_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// letterOf is where a long text to a member goes in the rig's state.
func letterOf(r *teamtest.Rig, member, text string) string {
	r.T.Helper()
	place := r.Place()
	sum := sha256.Sum256([]byte(text))
	return filepath.Join(mail.Folder(place.Mail()).Of(member), hex.EncodeToString(sum[:8])+".txt")
}

// reading is the permissions that a run has decided about calls of Read.
func reading(r *teamtest.Rig) (decisions []string) {
	for _, p := range teamtest.Of[events.PermissionDecided](r, "permission") {
		if p.Tool == "Read" {
			decisions = append(decisions, p.Decision)
		}
	}
	return decisions
}

// TestLongMessageIsRead: whoever gets the pointer to a long message may read the file
// without being asked about it, though it lies outside of its workspace; the letters
// of others it may not read, and it may not write there.
func TestLongMessageIsRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of it; ", mail.MaxText/10) + "the end"
	r := teamtest.NewRig(t, map[string]string{
		"lead.yaml": "steps:\n  - call: [{tool: SendMessage, input: {to: dev, message: " + string(texts.Encode(long)) +
			"}}]\n  - {say: well, times: -1}\n",
	})
	mine, others := letterOf(r, "dev", long), letterOf(r, "lead", long)
	spec := testkit.PairSpec + "defaults: {self_claim: false}\n" + teamtest.OwnedByDev
	for name, text := range map[string]string{"team.yaml": spec, "dev.yaml": fmt.Sprintf(`steps:
  - when: "All of it is in the file"
    call:
      - {tool: Read, input: {file_path: %q}}
      - {tool: Read, input: {file_path: %q}}
      - {tool: Write, input: {file_path: %q, content: mine now}}
  - {when: file_path|outside|denied|end, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: I wait., times: -1}
`, mine, others, mine)} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if got := strings.Join(reading(r), " "); got != "allow deny" {
		t.Errorf("Read of its own letter and of another's: %s\n%.4000s", got, teamtest.Show(r.Lines.All()))
	}
	found := 0
	for _, l := range r.Lines.All() {
		text := string(l.Data)
		if l.Member == "dev" && l.Type == "tool_result" && strings.Contains(text, "a line of it; a line of it") {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d calls gave the letter's text", found)
	}
	if whole := testkit.Read(t, mine); whole != long {
		t.Errorf("the letter has %d bytes of %d", len(whole), len(long))
	}
}

// TestLongMessageToAProgram: what comes in the middle of a prompt is its head and the
// place of the rest, which the program may read as the builtin agent may.
func TestLongMessageToAProgram(t *testing.T) {
	t.Parallel()
	long := "say something\n" + strings.Repeat("line by line\n", mail.MaxText/8) + "end"
	r, dir := newFakeRig(t, "steps:\n  - call: [{tool: SendMessage, input: {to: dev, message: "+string(texts.Encode(long))+
		"}}]\n  - {say: well, times: -1}\n", teamtest.OwnedByDev)
	mine, others := letterOf(r, "dev", long), letterOf(r, "lead", long)
	setPlay(t, dir, play{Scenes: []act{
		{When: "All of it is in the file " + mine, Do: []string{"askread " + mine, "askread " + others, teamtest.Finishes}},
		{When: "You own task #1", Do: []string{"say I wait for it."}},
	}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	results := toldFake(t, dir, "result")
	if len(results) != 3 || results[0] != strings.ReplaceAll(long, "\n", " | ") || results[1] != "denied" {
		t.Errorf("%d results: %.300q", len(results), results)
	}
	for _, p := range toldFake(t, dir, "prompt") {
		if len(p) > mail.MaxText {
			t.Errorf("a prompt has %d bytes", len(p))
		}
	}
}

// TestLongPlan: a plan that is too long for a message goes to its approver as a long
// message does, and a person reads all of it.
func TestLongPlan(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("step by step; ", mail.MaxText/10)
	files := teamtest.Planned(`steps:
  - when: "All of it is in the file"
    call: [{tool: SendMessage, input: {type: plan_approval_response, recipient: dev, request_id: dev, approve: true}}]
  - {say: well, times: -1}
`, "")
	files["dev.yaml"] = "steps:\n  - call: [{tool: ExitPlanMode, input: {plan: " + string(texts.Encode(long)) + `}}]
  - when: ("approve":true|has approved your plan)
    call: [{tool: Bash, input: {command: "echo ran >>made"}}, {tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: I wait., times: -1}
`
	r := teamtest.NewRig(t, files)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "ran\n" {
		t.Errorf("made %q", r.Made())
	}
	if whole := testkit.Read(t, letterOf(r, "lead", long)); whole != long {
		t.Errorf("the lead's file has %d bytes of %d", len(whole), len(long))
	}
	asked := teamtest.Of[requests.Request](r, "request")[0]
	if got := inbox.RequestText(asked); got != long {
		t.Errorf("a person reads %d bytes of %d", len(got), len(long))
	}
}
