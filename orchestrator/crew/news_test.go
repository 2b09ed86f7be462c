package crew

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestReportSent: the policy knows what members have completed and to whom they have written.
func TestReportSent(t *testing.T) {
	c := crewOf(t, Deps{}, "lead", "dev", "ops")
	for _, name := range []string{"lead", "dev", "ops"} {
		addSeat(t, c, &configs.Member{Name: name})
	}
	policies := teamhooks.NewPolicies(teamhooks.PolicyDeps{Members: c.deps.Seats, State: c.deps.State})
	happens := func(data events.Data) { c.deps.State.Apply(events.Event{Data: data}) }
	completed := func(id, owner string) {
		happens(events.TaskChanged{Change: tasks.Change{Op: tasks.TaskCompleted, Task: tasks.Task{ID: id, Owner: owner}}})
	}
	want := func(member, feedback string) {
		t.Helper()
		got := policies.All()["report-sent"](t.Context(),
			hooks.Input{Payload: hooks.TeammateIdleInput{TeammateName: member}})
		if (got.Outcome == hooks.Blocking) != (feedback != "") || !strings.Contains(got.Feedback, feedback) {
			t.Errorf("%s: the policy says %+v, want %q", member, got, feedback)
		}
	}
	want("dev", "")
	completed("1", "dev")
	completed("2", "dev")
	completed("3", "ghost")
	completed("4", "lead")
	happens(events.TaskChanged{Change: tasks.Change{Op: tasks.Claimed, Task: tasks.Task{ID: "5", Owner: "ops"}}})
	want("dev", "You have completed tasks 1 and 2 and the lead has not heard of it. Send lead a message")
	want("ops", "")
	want("ghost", "")
	want("lead", "") // it has nobody to report to
	sent := func(id, from, to string) {
		happens(events.MessageSent{Message: mail.Message{ID: id, From: from, To: to}})
	}
	sent("m1", "dev", "ops")
	want("dev", "You have completed")
	sent("m2", "ops", "lead")
	want("dev", "You have completed")
	sent("m3", "dev", "lead")
	want("dev", "")
}
