package crew_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

func TestMessagesWakeTheirReceivers(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: dev, message: "What is 2+2?", summary: a question}}]
  - say: I asked.
  - when: '<teammate-message teammate_id="dev" summary="4">4</teammate-message>'
    say: dev says 4.
`,
		"dev.yaml": `steps:
  - when: '<teammate-message teammate_id="lead" summary="a question">What is 2\+2\?</teammate-message>'
    call: [{tool: SendMessage, input: {recipient: team-lead, content: "4"}}]
  - say: Answered.
`,
	})
	ending := r.Run(orchestrator.Options{Hooks: r.Hold("dev", "SendMessage", teamtest.TurnEnded("lead"))})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if ending.Answer != "dev says 4." {
		t.Errorf("the lead's last answer is %q", ending.Answer)
	}
	sent, got := teamtest.Of[mail.Message](r, "message"), teamtest.Of[struct{ ID string }](r, "message_delivered")
	if len(sent) != 3 || len(got) != 3 { // the goal, the question, the answer
		t.Errorf("%d messages sent, %d delivered:\n%s", len(sent), len(got), teamtest.Show(r.Lines.All()))
	}
}

func TestBroadcastReachesAllOthers(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {model: dev}\n",
			"  dev: {model: dev}\n  ops: {model: dev}\n", 1),
		"lead.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: "*", message: hello all}}, {tool: ListMembers, input: {}}]
  - say: Told all.
`,
		"dev.yaml": `steps: [{when: hello all, say: Heard it.}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	var to []string
	for _, m := range teamtest.Of[mail.Message](r, "message") {
		if m.From == "lead" {
			to = append(to, m.To)
		}
	}
	if slices.Sort(to); !slices.Equal(to, []string{"dev", "ops"}) {
		t.Errorf("the broadcast went to %v", to)
	}
}

func TestMessageToNobody(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec,
		"lead.yaml": `steps:
  - call:
      - {tool: SendMessage, input: {to: ghost, message: hello}}
      - {tool: SendMessage, input: {to: lead, message: hello}}
      - {tool: SendMessage, input: {to: dev, message: "  "}}
      - {tool: SendMessage, input: {to: dev, message: {type: dance}}}
      - {tool: TaskUpdate, input: {taskId: "77", status: completed}}
  - say: None of it worked.
`,
		"dev.yaml": `steps: []`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	wants := []string{
		`no member is called "ghost"; the members are lead, dev`, "a message to oneself goes nowhere",
		"the message to dev is empty", "has the type \"dance\"", "Task not found",
	}
	results := teamtest.Of[events.ToolReturned](r, "tool_result")
	if len(results) != len(wants) {
		t.Fatalf("%d results:\n%s", len(results), teamtest.Show(r.Lines.All()))
	}
	for i, want := range wants {
		if !strings.Contains(results[i].Content, want) {
			t.Errorf("result %d is %q, want %q in it", i, results[i].Content, want)
		}
	}
}

func TestNudgesAndThenAttention(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: api, subject: Add it, owner: dev}]\n",
		"lead.yaml": `steps:
  - {say: Go., when: Ship it}
  - {say: I cannot help dev., when: "Teammate dev needs attention"}
  - {say: It is stuck., when: nobody can go on}
`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - {say: Hm., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, `task 1 "Add it" belongs to dev, who needs attention`)
	var causes []events.Cause
	for _, l := range r.Lines.All() {
		if l.Member == "dev" && l.Type == "turn_started" {
			causes = append(causes, teamtest.CauseIn(t, l))
		}
	}
	want := []events.Cause{events.ByTask, events.ByNudge, events.ByNudge, events.ByNudge}
	if !slices.Equal(causes, want) {
		t.Errorf("dev's turns began by %v, want %v", causes, want)
	}
	if all := r.List(); all[0].Status != tasks.InProgress || all[0].Owner != "dev" {
		t.Errorf("the task is %s of %q; it should stay as it was", all[0].Status, all[0].Owner)
	}
}

func TestDeadlockIsTold(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}\n", "dev: {model: dev, self_claim: false}\n", 2) + `
tasks: [{id: a, subject: Nobody's}, {id: b, subject: After it, blocked_by: [a]}]
`,
		"lead.yaml": `steps: [{say: Go., when: Ship it}, {say: Not mine., when: "Everyone is idle and open tasks remain"}]`,
		"dev.yaml":  `steps: []`,
	})
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeUnfinished, `task 1 "Nobody's" is ready, but no idle member takes it by itself; task 2 "After it" is blocked by task 1`)
}

func TestLeadMendsADeadlock(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}\n", "dev: {model: dev, self_claim: false}\n", 2) +
			"tasks: [{id: a, subject: Nobody's}]\n",
		"lead.yaml": `steps:
  - {say: Go., when: Ship it}
  - call: [{tool: TaskUpdate, input: {taskId: "1", owner: dev}}]
    when: Everyone is idle
  - say: dev has it now.
  - {say: Done., when: All tasks are completed}
`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
    when: "You own task #1"
  - say: Did it.
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
}

func TestApiErrorNeedsAttention(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec,
		"lead.yaml": `steps: [{error: {type: billing_error}}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "billing_error")
}

func TestLimitsEndWithThree(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.SoloSpec, "lead: {model: lead}",
			"lead: {model: lead, limits: {max_turns: 2}}", 1),
		"lead.yaml": `steps: [{call: [{tool: TaskList, input: {}}], times: -1}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeLimit, "max_turns")
}

func TestInterruptionOfTheRun(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": `steps: [{say: late, delay: 60s}]`})
	o := r.Orchestrator(orchestrator.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		r.Lines.Wait(t, "the pass", func(l events.Line) bool { return l.Type == "pass_started" })
		cancel()
	}()
	begun := time.Now()
	e, err := o.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.Want(e, orchestrator.CodeInterrupted, "interrupted")
	if took := time.Since(begun); took > testkit.Patience {
		t.Errorf("stopping took %v", took)
	}
}

func TestNewGoalOnADoneTeam(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec,
		"lead.yaml": `steps: [{when: Ship it, say: Shipped.}, {when: Paint it, say: Painted.}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if e := r.Run(orchestrator.Options{Goal: "Paint it."}); e.Answer != "Painted." || e.AlreadyDone {
		t.Errorf("with a new goal: %+v", e)
	}
	if e := r.Run(orchestrator.Options{}); !e.AlreadyDone || e.Answer != "Painted." {
		t.Errorf("without one the last goal counts: %+v", e)
	}
	if e := r.Run(orchestrator.Options{Fresh: true}); e.Answer != "Shipped." || e.Resumed {
		t.Errorf("afresh: %+v", e)
	}
}

// The member of a line is a member's name or empty, whoever sent the goal.
func TestLinesAreMembersOrTheTeams(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": `steps: [{say: Shipped.}]`})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	for _, l := range r.Lines.All() {
		if l.Member != "" && l.Member != "lead" {
			t.Errorf("line %d (%s) is of %q", l.Seq, l.Type, l.Member)
		}
	}
}

// A goal may be long, and may come again after another one.
func TestGoalsOfAnyLengthAndAgain(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec,
		"lead.yaml": `steps: [{when: Ship it, say: Shipped.}, {when: long, say: Long.}, {when: Ship it, say: Shipped again.}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if e := r.Run(orchestrator.Options{Goal: strings.Repeat("a long goal ", 10_000)}); e.Answer != "Long." {
		t.Errorf("a long goal: %+v", e)
	}
	if e := r.Run(orchestrator.Options{Goal: "Ship it."}); e.Answer != "Shipped again." || e.AlreadyDone {
		t.Errorf("the first goal again: %+v", e)
	}
}

// With many tasks the lead still is told, and asked for its report.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 120 {
		fmt.Fprintf(&list, "  - {id: task-with-a-long-name-%d, subject: Task %d}\n", i, i)
	}
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec + "tasks:\n" + list.String(),
		"lead.yaml": `steps: [{say: Go., when: Ship it}, {say: Not mine., when: "Everyone is idle and open tasks remain"}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, `task 5 "Task 4" is ready, but no idle member takes it by itself; and 115 more`)
}

func TestSecondUpIsRefused(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": `steps: [{say: late, delay: 60s}]`})
	first := r.Orchestrator(orchestrator.Options{})
	lines := r.Lines
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := first.Run(ctx)
		done <- err
	}()
	lines.Wait(t, "the first run", func(l events.Line) bool { return l.Type == "pass_started" })
	_, err := r.Orchestrator(orchestrator.Options{}).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "by process") {
		t.Errorf("the second run: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestMemberThatTheSpecNoLongerHas(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {model: dev}\n",
			"  dev: {model: dev}\n  ops: {model: dev}\n", 1) +
			"tasks: [{id: a, subject: one, owner: ops}, {id: b, subject: two, owner: ops, blocked_by: [a]}]\n",
		"lead.yaml": `steps: [{say: Hm., times: -1}]`,
		"dev.yaml":  `steps: [{error: {type: billing_error}, times: 9}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "ops")
	r.Rewrite("team.yaml", "  ops: {model: dev}\n", "")
	r.Rewrite("team.yaml", "owner: ops", "owner: dev")
	r.Rewrite("team.yaml", "owner: ops", "owner: dev")
	r.Rewrite("dev.yaml", "steps: [{error: {type: billing_error}, times: 9}]", `steps:
  - {when: 'claimed task #1', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: 'claimed task #2', call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {say: Yes., times: -1}
`)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	for _, task := range r.List() {
		if task.Owner != "dev" {
			t.Errorf("task %s belongs to %q", task.ID, task.Owner)
		}
	}
}
