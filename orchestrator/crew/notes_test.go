package crew_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestLastWordReachesTheLead: a member that answers in words alone is heard
// all the same, once nobody has anything else to do.
func TestLastWordReachesTheLead(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: dev, message: "What is 2+2?"}}]
  - say: I asked.
  - when: '<teammate-message teammate_id="dev">\n\{"type":"idle_notification","from":"dev","timestamp":"[^"]+","idleReason":"available","result":"4, I think."\}\n</teammate-message>$'
    say: dev says 4.
`,
		"dev.yaml": `steps: [{say: "4, I think."}]`,
	})
	ending := r.Run(orchestrator.Options{})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if ending.Answer != "dev says 4." {
		t.Errorf("the lead's last answer is %q:\n%s", ending.Answer, teamtest.Show(r.Lines.All()))
	}
}

// TestNoPingPong: what a member has written needs no second telling, and a lead
// that thanks for every note is not thanked for ever.
func TestNoPingPong(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps:
  - {call: [{tool: SendMessage, input: {to: dev, message: "What is 2+2?"}}]}
  - {say: I asked.}
  - {when: 'summary="4"', say: Right.}
`,
		"dev.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: lead, message: "4"}}]
  - say: Told the lead.
`,
	})
	r.Want(r.Run(orchestrator.Options{Hooks: r.Hold("dev", "SendMessage", teamtest.TurnEnded("lead"))}), orchestrator.CodeDone, "all work is done")
	if n := r.TurnsOf("lead"); n != 2 {
		t.Errorf("the lead took %d turns:\n%s", n, teamtest.Show(r.Lines.All()))
	}
	r = teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps:
  - {call: [{tool: SendMessage, input: {to: dev, message: Thank you.}}], when: "Ship it|idle_notification", times: -1}
  - {say: I thanked., times: -1}
`,
		"dev.yaml": `steps: [{say: You are welcome., times: -1}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if n := r.TurnsOf("lead"); n != 1+plan.MaxDigests {
		t.Errorf("the lead took %d turns", n)
	}
}

// TestNotesGoAlong: what members have completed stands in the next prompt that
// the lead gets anyway, and makes no turn of its own.
func TestNotesGoAlong(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: one, subject: One, owner: dev}, {id: two, subject: Two, owner: dev, blocked_by: [one]}]\n",
		"lead.yaml": `steps:
  - {say: All done., when: 'Since you last looked: dev completed tasks 1 and 2\.$'}
`,
		"dev.yaml": `steps:
  - {when: "task #1", call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: One is done.}
  - {when: "#2 Two", call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {say: Two is done.}
`,
	})
	ending := r.Run(orchestrator.Options{})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if n := r.TurnsOf("lead"); n != 1 || ending.Answer != "All done." {
		t.Errorf("the lead took %d turns and says %q:\n%s", n, ending.Answer, teamtest.Show(r.Lines.All()))
	}
	idle := teamtest.Of[events.Idle](r, "idle")
	if last := idle[len(idle)-2]; last.LastText != "Two is done." || strings.Join(last.Completed, " ") != "2" {
		t.Errorf("the journal says of dev: %+v", last)
	}
}

// TestFailureIsToldAtOnce: a turn that came to nothing does not wait until the
// lead has something else to read.
func TestFailureIsToldAtOnce(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: one, subject: One, owner: dev}]\n",
		"lead.yaml": `steps:
  - when: '"idleReason":"failed","failureReason":"[^"]*invalid_request'
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: Go., when: Ship it}
  - {say: I did it myself., times: -1}
`,
		"dev.yaml": `steps: [{error: {type: invalid_request}}, {say: Fine., times: -1}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
}

// TestNotesSurvive: a note that waited when covey ended gives the lead its turn
// in the next run; one that was seen is not seen again.
func TestNotesSurvive(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps: [{say: Begun.}, {say: Heard., when: "the answer"}]`,
		"dev.yaml":  `steps: []`,
	})
	o := r.Orchestrator(orchestrator.Options{})
	if err := o.Place().Create(); err != nil {
		t.Fatal(err)
	}
	store, err := tasks.Open(o.Place().Store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := mail.Note{IdleNote: mail.IdleNote{From: "dev", IdleReason: "available", Result: "the answer"}, Wakes: true}
	if err := store.Mail().PutNote(t.Context(), "lead", n); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if ending, err := o.Run(context.WithoutCancel(t.Context())); err != nil || r.TurnsOf("lead") < 1 {
		t.Fatalf("%+v, %v", ending, err)
	}
	var prompts string
	for _, p := range teamtest.Of[events.TurnStarted](r, "turn_started") {
		prompts += p.Prompt
	}
	if n := strings.Count(prompts, "the answer"); n != 1 {
		t.Errorf("the note was seen %d times in: %s", n, prompts)
	}
	store, err = tasks.Open(o.Place().Store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if left, err := store.Mail().Notes(t.Context(), "lead"); err != nil || len(left) > 0 {
		t.Errorf("%d notes are left, %v", len(left), err)
	}
}
