package launch_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// runUntilKilled runs the team in a process of its own, which a hook or a tool of the team kills.
func runUntilKilled(r *teamtest.Rig) {
	r.T.Helper()
	cmd := r.OwnProcess()
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() >= 0 {
		r.T.Fatalf("the team was not killed: %v\n%s", err, out)
	}
}

// briefed is a fake that writes a brief between its tasks. What it is asked in its new session
// decides what it does there.
var briefed = []act{
	{When: "You own task #1", Do: []string{teamtest.Finishes, "say Written."}},
	{When: "next work begins in a new session", Do: []string{`mcp team_task_list {}`, "say The API is in api.go."}},
	{When: "<brief>", Do: []string{`mcp team_task_update {"taskId":"2","status":"completed"}`, "say Documented."}},
}

// rotating follows the spec of a rig whose member works on two tasks.
const rotating = `
tasks:
  - {id: a, subject: Write the API, owner: dev}
  - {id: b, subject: Document the API, owner: dev, blocked_by: [a]}
`

// checkBriefed looks at what the fake was told: its second task came in another session of the
// program, with the brief and without the first task.
func checkBriefed(t *testing.T, dir string) {
	t.Helper()
	var last []string
	asked := 0
	for _, prompt := range toldFake(t, dir, "prompt") {
		if strings.Contains(prompt, "next work begins in a new session") {
			asked++
		}
		if strings.Contains(prompt, "<brief>") {
			last = append(last, prompt)
		}
	}
	if asked != 1 || len(last) != 1 {
		t.Fatalf("a brief was asked for %d times, and shown in %q", asked, last)
	}
	if !strings.Contains(last[0], "The API is in api.go.") || !strings.Contains(last[0], "Document the API") ||
		strings.Contains(last[0], "You own task #1") {
		t.Errorf("the new session begins with %s", last[0])
	}
}

// TestProgramRotates: with rotate: task an agent program writes a brief, and its next task begins
// in another session of another process, which has not seen the first one.
func TestProgramRotates(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, rotating, briefed...)
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, rotate: task}")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	checkBriefed(t, dir)
	if n := len(toldFake(t, dir, "new")); n != 2 {
		t.Errorf("the program began %d sessions", n)
	}
	if loads := toldFake(t, dir, "load"); len(loads) != 0 {
		t.Errorf("the program went on in %q", loads)
	}
	if rotated := teamtest.Of[events.Rotated](r, "session_rotated"); len(rotated) != 1 || !strings.Contains(rotated[0].Brief, "api.go") {
		t.Errorf("the journal has %+v", rotated)
	}
}

// TestProgramRotatesAfterKill kills covey between the brief and the new session of the program,
// and again before that session has seen the brief, which is then shown, once.
func TestProgramRotatesAfterKill(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, rotating+`
hooks:
  SessionEnd: [{matcher: clear, hooks: [{type: command, command: "test -e ended || { touch ended; kill -9 $PPID; }"}]}]
  SessionStart: [{matcher: clear, hooks: [{type: command, command: "test -e begun || { touch begun; kill -9 $PPID; }"}]}]
`, briefed...)
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, rotate: task}")
	runUntilKilled(r)
	runUntilKilled(r)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	checkBriefed(t, dir)
	for _, loaded := range toldFake(t, dir, "load") {
		if loaded != toldFake(t, dir, "new")[0] {
			t.Errorf("the program went on in %s", loaded)
		}
	}
}

// asksColour is a call with a question to the lead.
const asksColour = "mcp " + teamtools.AskTool + ` {"question":"Which colour?"}`

// oneAnswered checks that the team had one question, and that it was answered.
func oneAnswered(r *teamtest.Rig) {
	r.T.Helper()
	place := r.Place()
	store, err := tasks.Open(place.Store(), &tasks.Options{ReadOnly: true, BlobDir: place.Blobs()})
	testkit.Must(r.T, err)
	defer store.Close()
	all, err := store.Requests().List(r.T.Context())
	testkit.Must(r.T, err)
	var asked []requests.Request
	for _, q := range all {
		if q.Kind == requests.AskQuestion {
			asked = append(asked, q)
		}
	}
	if len(asked) != 1 || asked[0].State != requests.Approved || asked[0].Feedback != "Blue." {
		r.T.Errorf("the questions are %+v", asked)
	}
}

// TestProgramAsksTheLead: the answer of the lead is the result of the program's call.
func TestProgramAsksTheLead(t *testing.T) {
	t.Parallel()
	const answers = `steps:
  - {when: "Which colour", call: [{tool: SendMessage, input: {to: dev, message: Blue.}}]}
  - {say: Fine., times: -1}
`
	r, dir := newFakeRig(t, answers, "tasks: [{id: a, subject: Paint, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{teamtest.Claims, asksColour, teamtest.Finishes}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if results := toldFake(t, dir, "result"); len(results) != 3 || !strings.Contains(results[1], "Blue.") {
		t.Errorf("the program got %q", results)
	}
	oneAnswered(r)
}

// TestProgramAsksAfterKill kills covey while a question of a program is open. The lead answers the
// same question when it goes on, and the program, whose call is gone, reads the answer, once.
func TestProgramAsksAfterKill(t *testing.T) {
	t.Parallel()
	const killsOnce = `steps:
  - {when: "Which colour", call: [{tool: Bash, input: {command: "kill -9 $PPID"}}]}
  - {when: interrupted, call: [{tool: SendMessage, input: {to: dev, message: Blue.}}]}
  - {say: Fine., times: -1}
`
	r, dir := newFakeRig(t, killsOnce, "tasks: [{id: a, subject: Paint, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{teamtest.Claims, asksColour}}, act{When: "Blue.", Do: []string{teamtest.Finishes}})
	r.Rewrite("team.yaml", "lead: {model: lead}", "lead: {model: lead, permission_mode: bypassPermissions}")
	runUntilKilled(r)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if prompts := strings.Join(toldFake(t, dir, "prompt"), "\n"); strings.Count(prompts, "Blue.") != 1 {
		t.Errorf("the program was told\n%s", prompts)
	}
	oneAnswered(r)
}
