package inbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestPlanIsAGate: before its plan is approved a member can neither change
// anything nor complete a task; a no with feedback leads to another plan.
func TestPlanIsAGate(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, teamtest.Planned(teamtest.LeadDecides, ""))
	r.Want(r.Run(orchestrator.Options{Hooks: r.Hold("lead", "SendMessage", teamtest.TurnEnded("dev"))}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "ran\n" {
		t.Errorf("made %q", r.Made())
	}
	back := teamtest.Of[events.ToolReturned](r, "tool_result")
	for i, words := range map[int]string{
		1: "you are in plan mode", 2: "your plan is not approved yet", 3: "submitted to lead for approval",
	} {
		if !strings.Contains(back[i].Content, words) {
			t.Errorf("result %d is %q, want %q", i, back[i].Content, words)
		}
	}
	var states []string
	for _, q := range teamtest.Of[requests.Request](r, "request") {
		states = append(states, string(q.State)+" "+q.By)
	}
	if got := strings.Join(states, ", "); got != "open , denied lead, open , approved lead" {
		t.Errorf("requests went %s", got)
	}
	ends := teamtest.Of[events.TurnEnded](r, "turn_ended")
	waiting := 0
	for _, e := range ends {
		if e.Reason == events.EndAwaiting {
			waiting++
		}
	}
	if waiting != 2 {
		t.Errorf("%d turns ended in a wait", waiting)
	}
}

// TestPlanThatTheLeadIgnores: a lead that answers no plan is reminded, then needs attention:
// the Notification hooks, the members' states and the inbox say so. A person can answer the
// plan instead, and the lead is out of trouble then.
func TestPlanThatTheLeadIgnores(t *testing.T) {
	t.Parallel()
	u := teamtest.Start(teamtest.NewRig(t, teamtest.Planned("steps: [{say: well, times: -1}]\n",
		"ask_limit: 1h\nhooks: {Notification: [{hooks: [{type: command, command: 'cat >>told'}]}]}\n")), &teamtest.HandClock{})
	plan := u.Asked(requests.AskPlan)
	trouble := u.Asked(requests.AskAttention)
	if trouble.Member != "lead" || !strings.Contains(trouble.Text, "reminded 3 times of what others ask") ||
		!strings.Contains(trouble.Text, plan.ID) {
		t.Errorf("asked %+v", trouble)
	}
	if s := u.Member("lead"); s.State != api.NeedsAttention || !strings.Contains(s.Attention, plan.ID) {
		t.Errorf("the lead is %+v", s)
	}
	u.Lines.Wait(t, "the notification", func(l events.Line) bool {
		return l.Type == "notification" && l.Member == "lead" && strings.Contains(string(l.Data), plan.ID)
	})
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: plan.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "its trouble to be over", func(l events.Line) bool {
		q, ok := teamtest.RequestOf(l)
		return ok && q.ID == trouble.ID && q.State == requests.Withdrawn
	})
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if u.Made() != "ran\n" {
		t.Errorf("made %q", u.Made())
	}
	if told, err := os.ReadFile(filepath.Join(u.Dir, "told")); err != nil || !strings.Contains(string(told), "lead needs attention") {
		t.Errorf("the hooks were told %q, %v", told, err)
	}
}

// TestPlanAnswersLookLikeOtherHosts: the structured answer has the fields that
// scripts know.
func TestPlanAnswersLookLikeOtherHosts(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, teamtest.Planned(teamtest.LeadDecides, "hooks: {PostToolUse: [{matcher: ExitPlanMode, hooks: [{type: command, command: \"cat >>plans\"}]}]}\n"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	for _, want := range []string{`"plan":"one, two"`, `"isAgent":true`, `"awaitingLeaderApproval":true`,
		`"requestId":"r1"`} {
		if !strings.Contains(r.Read("plans"), want) {
			t.Errorf("no %s in %s", want, r.Read("plans"))
		}
	}
}

// TestPlanByAHook: a policy can decide at once, and then nobody is asked.
func TestPlanByAHook(t *testing.T) {
	t.Parallel()
	hook := func(decision string) string {
		return "hooks: {PermissionRequest: [{matcher: ExitPlanMode, hooks: [{type: command, command: \"./policy.sh\"}]}]}\n" + decision
	}
	files := teamtest.Planned("steps: [{say: well, times: -1}]\n", hook(""))
	files["policy.sh"] = `#!/bin/sh
if grep -q three; then
  echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
else
  echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"approve\":false: think of three"}}}'
fi
`
	r := teamtest.NewRig(t, files)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "ran\n" || len(teamtest.Of[requests.Request](r, "request")) != 0 {
		t.Errorf("made %q, %d requests", r.Made(), len(teamtest.Of[requests.Request](r, "request")))
	}
}

// TestPlanByAPreToolUseHook: a hook before the call approves a plan if it says with which
// input, as recorded hosts want it; one that allows whatever comes by does not. Its no is
// feedback.
func TestPlanByAPreToolUseHook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allow    string
		requests int
	}{
		"with the input":    {`"permissionDecision":"allow","updatedInput":{"plan":"one, two, three"}`, 0},
		"whatever comes by": {`"permissionDecision":"allow"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			files := teamtest.Planned(strings.Replace(teamtest.LeadDecides, "approve: false", "approve: true", 1),
				"hooks: {PreToolUse: [{matcher: ExitPlanMode, hooks: [{type: command, command: \"./policy.sh\"}]}]}\n")
			files["policy.sh"] = `#!/bin/sh
say() { echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse",'"$1"'}}'; }
if grep -q three; then
  say '` + c.allow + `'
else
  say '"permissionDecision":"deny","permissionDecisionReason":"approve\":false: think of three"'
fi
`
			r := teamtest.NewRig(t, files)
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			asked := 0
			for _, q := range teamtest.Of[requests.Request](r, "request") {
				if q.Open() {
					asked++
				}
			}
			if r.Made() != "ran\n" || asked != c.requests {
				t.Errorf("made %q, %d requests, want %d", r.Made(), asked, c.requests)
			}
			if !slices.ContainsFunc(teamtest.Of[events.ToolReturned](r, "tool_result"), func(back events.ToolReturned) bool {
				return back.IsError && strings.Contains(back.Content, "PreToolUse:ExitPlanMode hook error") &&
					strings.Contains(back.Content, "think of three")
			}) {
				t.Error("the hook's no did not come back as feedback")
			}
		})
	}
}

// TestPlanOverARestart: neither the question nor the approval needs the run in
// which it was given.
func TestPlanOverARestart(t *testing.T) {
	t.Parallel()
	rig := teamtest.NewRig(t, teamtest.Planned("steps: [{say: well, times: -1}]\n", ""))
	u := teamtest.Start(rig, &teamtest.HandClock{})
	r := u.Asked(requests.AskPlan)
	u.Lines.Wait(t, "dev to wait", func(l events.Line) bool {
		return l.Type == "text" &&
			strings.Contains(string(l.Data), "I wait.")
	})
	u.Stop(errors.New("enough"))
	u.End()
	u = teamtest.Start(rig, &teamtest.HandClock{})
	u.Until("member_started", 2)
	testkit.Eventually(t, "dev to wait on", func() bool { return u.Member("dev").WaitsFor == "lead's approval of its plan" })
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if rig.Made() != "ran\n" {
		t.Errorf("made %q", rig.Made())
	}
}

// TestPlanOfTheLead goes to a person.
func TestPlanOfTheLead(t *testing.T) {
	t.Parallel()
	files := teamtest.Planned("steps:\n  - call: [{tool: ExitPlanMode, input: {plan: lead on}}]\n  - {say: well, times: -1}\n", "")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "lead: {model: lead}",
		"lead: {model: lead, plan: required}", 1)
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", plan: required}\ndefaults", "}\ndefaults", 1)
	files["dev.yaml"] = "steps: [{call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}, {say: done, times: -1}]\n"
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	r := u.Asked(requests.AskPlan)
	if r.Member != "lead" || r.To != actors.Operator {
		t.Errorf("asked %+v", r)
	}
	if text := inbox.RequestText(r); text != "lead on" {
		t.Errorf("a person reads %q", text)
	}
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true,
		Mode: "default"}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}
