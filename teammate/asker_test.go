package teammate

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/permission"
)

// awaiting is the outcome of gates of which one waits for ben's answer.
func awaiting(feedback ...string) hooks.Outcome {
	return hooks.Outcome{Decision: hooks.Await, Awaits: "ben's approval", Feedback: feedback, Messages: feedback}
}

// TestTurnEndThatWaits: a refusal that is only a wait ends the turn, and one
// that wants something done as well does not.
func TestTurnEndThatWaits(t *testing.T) {
	refused := hooks.Outcome{Decision: hooks.Block, Feedback: []string{"mend it"}, Messages: []string{"mend it"}}
	for name, tc := range map[string]struct {
		task, idle []hooks.Outcome
		passes     int
		reason     string
		said       string
	}{
		"a wait": {task: []hooks.Outcome{awaiting("wait for ben")}, passes: 1, reason: events.IdleAwaiting,
			said: "it waits for ben's approval"},
		"a wait and a refusal": {task: []hooks.Outcome{awaiting("wait for ben"), {}},
			idle:   []hooks.Outcome{refused, {}},
			passes: 2,
			reason: events.IdleAvailable},
		"a refusal": {task: []hooks.Outcome{refused, {}}, passes: 2, reason: events.IdleAvailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{text: "done"}, say{text: "done again"})
			r.tasks.list = []tasks.Task{{ID: "1", Subject: "s"}}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
				hooks.TaskCompleted: tc.task, hooks.TeammateIdle: tc.idle,
			})
			r.mustRun(t)
			equal(t, "passes", one[events.TurnEnded](t, r.journal).Passes, tc.passes)
			idle := one[events.Idle](t, r.journal)
			equal(t, "idle", idle.Reason, tc.reason)
			if tc.said != "" {
				equal(t, "last text", idle.LastText, tc.said)
				equal(t, "end", one[events.TurnEnded](t, r.journal).Reason, events.EndAwaiting)
			}
		})
	}
}

// TestTurnEndOnHold: while a member's plan is looked at, no gate is asked; the
// refusals in a row do not count on.
func TestTurnEndOnHold(t *testing.T) {
	r := newRig(t, say{text: "my plan"})
	why := "the lead's approval of its plan"
	r.opts.OnHold = func() string { return why }
	r.mustRun(t)
	for _, event := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle} {
		equal(t, string(event), len(r.runner.of(event)), 0)
	}
	equal(t, "end", one[events.TurnEnded](t, r.journal).Reason, events.EndAwaiting)
	equal(t, "last text", one[events.Idle](t, r.journal).LastText, "it waits for "+why)
}

// TestSetMode: a mode counts from the next decision on; what is no mode changes
// nothing.
func TestSetMode(t *testing.T) {
	r := newRig(t)
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModePlan}, nil)
	m, err := New(r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Rights().SetMode("everything"); err == nil || m.Rights().Now().Mode != permission.ModePlan {
		t.Errorf("mode %q (%v)", m.Rights().Now().Mode, err)
	}
	if err := m.Rights().SetMode(permission.ModeEdits); err != nil || m.Rights().Now().Mode != permission.ModeEdits {
		t.Errorf("mode %q (%v)", m.Rights().Now().Mode, err)
	}
}
