package orchestrator

import (
	"context"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// policyCrew is a crew without agents: what policies ask.
func policyCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{store: testkit.OpenStore(t)}
	c.asks = inboxOf(c, configs.WaitAsk)
	for i, name := range []string{"lead", "dev", "ops"} {
		s := &seat{member: &roster.Member{Member: &configs.Member{Name: name}, Lead: i == 0}, crew: c}
		s.member.Session.Session = "session-" + name
		if name == "ops" {
			s.member.Tools = []string{"Read"}
		}
		c.seating.add(s)
	}
	c.hooks.policies = hooking.NewPolicies(hooking.PolicyOptions{
		Writes: &owned.Writes{}, Member: c.seating.member, SessionOf: c.seating.sessionOf, Lead: func() *roster.Member { return c.seating.lead().member },
		Unreported: func(_ context.Context, member string) []string { return c.watch.Of(member).Unreported },
	})
	return c
}

func idle(member string) hooks.Input {
	return hooks.Input{Payload: hooks.TeammateIdleInput{TeammateName: member}}
}

func TestReportSent(t *testing.T) {
	c := policyCrew(t)
	completed := func(id, owner string) {
		monitor{c}.noteTask(notation.Encode(tasks.Change{Op: tasks.TaskCompleted, Task: tasks.Task{ID: id, Owner: owner}}))
	}
	want := func(member, feedback string) {
		t.Helper()
		got := c.hooks.policies.All()["report-sent"](t.Context(), idle(member))
		if (got.Outcome == hooks.Blocking) != (feedback != "") || !strings.Contains(got.Feedback, feedback) {
			t.Errorf("%s: the policy says %+v, want %q", member, got, feedback)
		}
	}
	want("dev", "")
	completed("1", "dev")
	completed("2", "dev")
	completed("3", "ghost")
	completed("4", "lead")
	monitor{c}.noteTask(notation.Encode(tasks.Change{Op: tasks.Claimed, Task: tasks.Task{ID: "5", Owner: "ops"}}))
	want("dev", "You have completed tasks 1 and 2 and the lead has not heard of it. Send lead a message")
	want("ops", "")
	want("ghost", "")
	want("lead", "") // it has nobody to report to
	if to := (monitor{c}).noteMessage(notation.Encode(mail.Message{From: "dev", To: "ops"})); to != "ops" {
		t.Errorf("the mail is for %q", to)
	}
	want("dev", "You have completed")
	monitor{c}.noteMessage(notation.Encode(mail.Message{From: "ops", To: "lead"}))
	want("dev", "You have completed")
	monitor{c}.noteMessage(notation.Encode(mail.Message{From: "dev", To: "lead"}))
	want("dev", "")
	for _, bad := range []string{"null", "[]", "{"} {
		monitor{c}.noteTask([]byte(bad))
		monitor{c}.noteMessage([]byte(bad))
	}
	want("dev", "")
}

// TestReportIsOwedAfterARestart ends a team between a completion and its
// report.
func TestReportIsOwedAfterARestart(t *testing.T) {
	r := newRig(t, map[string]string{
		"team.yaml": pairSpec + "tasks: [{id: a, subject: One, owner: dev}]\ngates: {idle: [{policy: report-sent}]}\n",
		"lead.yaml": `steps: [{say: Hm., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {error: {type: billing_error}, times: 9}
  - {when: "the lead has not heard of it", call: [{tool: SendMessage, input: {to: lead, message: One is done.}}]}
  - {say: Yes., times: -1}
`,
	})
	r.want(r.run(Options{}), CodeUnfinished, "billing_error")
	r.rewrite("dev.yaml", "{error: {type: billing_error}, times: 9}",
		`{when: 'claimed task #2', call: [{tool: TaskUpdate, input: {taskId: "2", status: deleted}}], times: 9}`)
	r.rewrite("team.yaml", "subject: One, owner: dev}", "subject: One, owner: dev}, {id: b, subject: Two}")
	r.want(r.run(Options{}), CodeDone, "all work is done")
	var feedback []string
	for _, f := range of[agent.HookFeedback](r, "hook_feedback") {
		feedback = append(feedback, f.Text)
	}
	if len(feedback) != 1 || !strings.Contains(feedback[0],
		"You have completed task 1 and the lead has not heard of it") {
		t.Errorf("the policy said %q; it should want the report on task 1 once", feedback)
	}
}
