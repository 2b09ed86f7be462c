package orchestrator

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// planned is a team whose dev must plan, with what the spec has besides.
func planned(lead, more string) map[string]string {
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
const leadDecides = `steps:
  - when: '"type":"plan_approval_request"'
    call: [{tool: SendMessage, input: {type: plan_approval_response, recipient: dev, request_id: dev, approve: false, content: and three}}]
  - when: '"type":"plan_approval_request"'
    call: [{tool: SendMessage, input: {to: dev, message: {type: plan_approval_response, request_id: dev, approve: true, permissionMode: bypassPermissions}}}]
  - {say: well, times: -1}
`

// TestPlanIsAGate: before its plan is approved a member can neither change
// anything nor complete a task; a no with feedback leads to another plan.
func TestPlanIsAGate(t *testing.T) {
	t.Parallel()
	r := newRig(t, planned(leadDecides, ""))
	r.want(r.run(Options{Hooks: r.hold("lead", "SendMessage", turnEnded("dev"))}), CodeDone, "all work is done")
	if r.made() != "ran\n" {
		t.Errorf("made %q", r.made())
	}
	back := of[events.ToolReturned](r, "tool_result")
	for i, words := range map[int]string{
		1: "you are in plan mode", 2: "your plan is not approved yet", 3: "submitted to lead for approval",
	} {
		if !strings.Contains(back[i].Content, words) {
			t.Errorf("result %d is %q, want %q", i, back[i].Content, words)
		}
	}
	var states []string
	for _, q := range of[requests.Request](r, "request") {
		states = append(states, string(q.State)+" "+q.By)
	}
	if got := strings.Join(states, ", "); got != "open , denied lead, open , approved lead" {
		t.Errorf("requests went %s", got)
	}
	ends := of[events.TurnEnded](r, "turn_ended")
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
	u := start(newRig(t, planned("steps: [{say: well, times: -1}]\n",
		"ask_limit: 1h\nhooks: {Notification: [{hooks: [{type: command, command: 'cat >>told'}]}]}\n")), &handClock{})
	plan := u.asked(requests.AskPlan)
	trouble := u.asked(requests.AskAttention)
	if trouble.Member != "lead" || !strings.Contains(trouble.Text, "reminded 3 times of what others ask") ||
		!strings.Contains(trouble.Text, plan.ID) {
		t.Errorf("asked %+v", trouble)
	}
	if s := u.member("lead"); s.State != api.NeedsAttention || !strings.Contains(s.Attention, plan.ID) {
		t.Errorf("the lead is %+v", s)
	}
	u.lines.Wait(t, "the notification", func(l events.Line) bool {
		return l.Type == "notification" && l.Member == "lead" && strings.Contains(string(l.Data), plan.ID)
	})
	if _, err := u.client().AnswerInbox(t.Context(), api.InboxAnswer{ID: plan.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.lines.Wait(t, "its trouble to be over", func(l events.Line) bool {
		q, ok := requestOf(l)
		return ok && q.ID == trouble.ID && q.State == requests.Withdrawn
	})
	u.want(u.end(), CodeDone, "all work is done")
	if u.made() != "ran\n" {
		t.Errorf("made %q", u.made())
	}
	if told, err := os.ReadFile(filepath.Join(u.dir, "told")); err != nil || !strings.Contains(string(told), "lead needs attention") {
		t.Errorf("the hooks were told %q, %v", told, err)
	}
}

// TestPlanAnswersLookLikeOtherHosts: the structured answer has the fields that
// scripts know.
func TestPlanAnswersLookLikeOtherHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t, planned(leadDecides, "hooks: {PostToolUse: [{matcher: ExitPlanMode, hooks: [{type: command, command: \"cat >>plans\"}]}]}\n"))
	r.want(r.run(Options{}), CodeDone, "all work is done")
	for _, want := range []string{`"plan":"one, two"`, `"isAgent":true`, `"awaitingLeaderApproval":true`,
		`"requestId":"r1"`} {
		if !strings.Contains(r.read("plans"), want) {
			t.Errorf("no %s in %s", want, r.read("plans"))
		}
	}
}

// TestPlanByAHook: a policy can decide at once, and then nobody is asked.
func TestPlanByAHook(t *testing.T) {
	t.Parallel()
	hook := func(decision string) string {
		return "hooks: {PermissionRequest: [{matcher: ExitPlanMode, hooks: [{type: command, command: \"./policy.sh\"}]}]}\n" + decision
	}
	files := planned("steps: [{say: well, times: -1}]\n", hook(""))
	files["policy.sh"] = `#!/bin/sh
if grep -q three; then
  echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
else
  echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"approve\":false: think of three"}}}'
fi
`
	r := newRig(t, files)
	r.want(r.run(Options{}), CodeDone, "all work is done")
	if r.made() != "ran\n" || len(of[requests.Request](r, "request")) != 0 {
		t.Errorf("made %q, %d requests", r.made(), len(of[requests.Request](r, "request")))
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
			files := planned(strings.Replace(leadDecides, "approve: false", "approve: true", 1),
				"hooks: {PreToolUse: [{matcher: ExitPlanMode, hooks: [{type: command, command: \"./policy.sh\"}]}]}\n")
			files["policy.sh"] = `#!/bin/sh
say() { echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse",'"$1"'}}'; }
if grep -q three; then
  say '` + c.allow + `'
else
  say '"permissionDecision":"deny","permissionDecisionReason":"approve\":false: think of three"'
fi
`
			r := newRig(t, files)
			r.want(r.run(Options{}), CodeDone, "all work is done")
			asked := 0
			for _, q := range of[requests.Request](r, "request") {
				if q.Open() {
					asked++
				}
			}
			if r.made() != "ran\n" || asked != c.requests {
				t.Errorf("made %q, %d requests, want %d", r.made(), asked, c.requests)
			}
			if !slices.ContainsFunc(of[events.ToolReturned](r, "tool_result"), func(back events.ToolReturned) bool {
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
	rig := newRig(t, planned("steps: [{say: well, times: -1}]\n", ""))
	u := start(rig, &handClock{})
	r := u.asked(requests.AskPlan)
	u.lines.Wait(t, "dev to wait", func(l events.Line) bool {
		return l.Type == "text" &&
			strings.Contains(string(l.Data), "I wait.")
	})
	u.stop(errors.New("enough"))
	u.end()
	u = start(rig, &handClock{})
	u.until("member_started", 2)
	testkit.Eventually(t, "dev to wait on", func() bool { return u.member("dev").WaitsFor == "lead's approval of its plan" })
	if _, err := u.client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.want(u.end(), CodeDone, "all work is done")
	if rig.made() != "ran\n" {
		t.Errorf("made %q", rig.made())
	}
}

// TestPlanOfTheLead goes to a person.
func TestPlanOfTheLead(t *testing.T) {
	t.Parallel()
	files := planned("steps:\n  - call: [{tool: ExitPlanMode, input: {plan: lead on}}]\n  - {say: well, times: -1}\n", "")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "lead: {model: lead}",
		"lead: {model: lead, plan: required}", 1)
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", plan: required}\ndefaults", "}\ndefaults", 1)
	files["dev.yaml"] = "steps: [{call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}, {say: done, times: -1}]\n"
	u := start(newRig(t, files), &handClock{})
	r := u.asked(requests.AskPlan)
	if r.Member != "lead" || r.To != actors.Operator {
		t.Errorf("asked %+v", r)
	}
	if text := inbox.RequestText(r); text != "lead on" {
		t.Errorf("a person reads %q", text)
	}
	if _, err := u.client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true,
		Mode: "default"}); err != nil {
		t.Fatal(err)
	}
	u.want(u.end(), CodeDone, "all work is done")
}
