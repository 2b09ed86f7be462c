package crew_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// parting is a team whose lead ends dev, with what dev does.
func parting(dev string) map[string]string {
	return map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "models:\n",
			"models:\n  ops: {provider: script, script: ops.yaml}\n", 1) +
			"  ops: {model: ops, self_claim: false}\ndefaults: {permission_mode: bypassPermissions}\n" +
			"tasks: [{id: a, subject: Make it, owner: dev}]\n",
		"lead.yaml": `steps:
  - when: end dev
    call: [{tool: SendMessage, input: {to: dev, message: {type: shutdown_request, reason: "no more work"}}}]
  - when: Open again
    call: [{tool: TaskUpdate, input: {taskId: "1", status: deleted}}]
  - {say: well, times: -1}
`,
		"ops.yaml": "steps: [{say: fine, times: -1}]\n",
		"dev.yaml": dev,
	}
}

const agreesToEnd = `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}, {tool: Bash, input: {command: "sleep 600", run_in_background: true}}]
  - call: [{tool: Bash, input: {command: "setsid sleep 601 >/dev/null 2>&1 & echo $! >pid; sleep 0.3"}}]
  - when: shutdown_request
    call: [{tool: SendMessage, input: {to: lead, message: {type: shutdown_response, request_id: lead, approve: true, reason: bye}}}]
  - {say: working, times: 2}
  - {say: too late, times: -1}
`

// TestShutdownIsAgreed: a member that agrees ends after its call, its task is open
// again, everybody is told, the team goes on, and nothing of it runs.
func TestShutdownIsAgreed(t *testing.T) {
	t.Parallel()
	files := parting(agreesToEnd)
	files["team.yaml"] += "keep: true\nsettings: [hooks.json]\n"
	files["hooks.json"] = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "! grep -q teammate_name || { echo stay >&2; exit 2; }"}]}],
		"TaskCompleted": [{"hooks": [{"type": "command", "command": "true"}]}],
		"TeammateIdle": [{"hooks": [{"type": "command", "command": "true"}]}]}}`
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	c := client2(u)
	u.Lines.Wait(t, "dev at work", func(l events.Line) bool {
		return l.Member == "dev" && l.Type == "tool_result" && strings.Contains(string(l.Data),
			"running in background")
	})
	testkit.Eventually(t, "the stray's number", func() bool {
		_, err := os.Stat(filepath.Join(u.Dir, "pid"))
		return err == nil
	})
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "end dev"}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the news", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"kind":"teammate_terminated"`)
	})
	u.Lines.Wait(t, "the lead to give up the task", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"deleted"`)
	})
	dev := u.Member("dev")
	if dev.State != api.Ended || !strings.Contains(dev.Attention, "asked to end by lead: no more work") {
		t.Errorf("dev is %+v", dev)
	}
	// A process that was killed may be seen for another moment.
	testkit.Eventually(t, "the end of all that dev has started", func() bool { return len(sleepersIn(t, u.Dir)) == 0 })
	if said := teamtest.Of[events.TextSaid](u.Rig, "text"); slices.ContainsFunc(said,
		func(s events.TextSaid) bool { return s.Text == "too late" }) {
		t.Error("dev went on after it had agreed")
	}
	if _, err := c.Down(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	u.End()
	if got := gatesAfterYes(u.Rig, "dev"); !slices.Equal(got, []string{"Stop"}) {
		t.Errorf("once dev had agreed, it fired %v; want Stop alone", got)
	}
	for _, q := range teamtest.Of[requests.Request](u.Rig, "request") {
		if q.Kind != requests.AskShutdown || q.Member != "lead" || q.To != "dev" {
			t.Errorf("asked %+v", q)
		}
	}
}

// gatesAfterYes are the events whose hooks began for a member after it had called
// SendMessage, which it does here to agree that it ends.
func gatesAfterYes(r *teamtest.Rig, member string) []string {
	var all []string
	agreed := false
	for _, l := range r.Lines.All() {
		var data struct{ Name, Event string }
		if l.Member != member || json.Unmarshal(l.Data, &data) != nil {
			continue
		}
		agreed = agreed || l.Type == "tool_call" && data.Name == "SendMessage"
		if agreed && l.Type == "hook_started" {
			all = append(all, data.Event)
		}
	}
	return all
}

// client2 is client for a team that may not listen yet.
func client2(u *teamtest.Underway) *api.Client {
	u.T.Helper()
	u.Until("member_started", 1)
	return u.Client()
}

// TestShutdownIsRefused: a member that has reasons stays, and who asked is told.
func TestShutdownIsRefused(t *testing.T) {
	t.Parallel()
	u := teamtest.Start(teamtest.NewRig(t, parting(`steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: "echo >made; while [ ! -e asked ]; do sleep 0.01; done"}}]
  - when: shutdown_request
    call: [{tool: SendMessage, input: {to: lead, message: {type: shutdown_response, request_id: lead, approve: false, reason: not yet}}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`)), &teamtest.HandClock{})
	c := client2(u)
	testkit.Eventually(t, "dev to work", func() bool { return u.Made() != "" })
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "end dev"}); err != nil {
		t.Fatal(err)
	}
	u.Asked(requests.AskShutdown)
	if err := os.WriteFile(filepath.Join(u.Dir, "asked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	var answers []mail.Message
	for _, m := range teamtest.Of[mail.Message](u.Rig, "message") {
		if m.Kind == mail.ShutdownRejected {
			answers = append(answers, m)
		}
	}
	if len(answers) != 1 || answers[0].From != "dev" || answers[0].To != "lead" ||
		!strings.Contains(answers[0].Text, "not yet") {
		t.Errorf("answers %+v", answers)
	}
}

// TestShutdownWithoutAnswer: a member that is deep in a call is interrupted at the
// deadline, and its call with it.
func TestShutdownWithoutAnswer(t *testing.T) {
	t.Parallel()
	clock := &teamtest.HandClock{}
	files := parting(`steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: "trap '' TERM INT HUP; echo busy >made; sleep 602"}}]
  - {say: done, times: -1}
`)
	files["team.yaml"] += "keep: true\n"
	u := teamtest.Start(teamtest.NewRig(t, files), clock)
	c := client2(u)
	testkit.Eventually(t, "dev to be busy", func() bool { return u.Made() != "" })
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "end dev"}); err != nil {
		t.Fatal(err)
	}
	r := u.Asked(requests.AskShutdown)
	const limit = 2 * time.Minute
	if wait := r.Deadline.Sub(r.Created); wait != limit || !r.Default {
		t.Errorf("it may take %v, and then the answer is %t", wait, r.Default)
	}
	clock.Forward(limit + time.Second)
	u.Lines.Wait(t, "the news", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"kind":"teammate_terminated"`) &&
			strings.Contains(string(l.Data), "it did not answer")
	})
	testkit.Eventually(t, "its processes to end", func() bool { return len(sleepersIn(t, u.Dir)) == 0 })
	u.Stop(errors.New("enough"))
	u.End()
	for _, task := range u.List() {
		if task.Status == tasks.InProgress || task.Owner != "" {
			t.Errorf("task %+v", task)
		}
	}
}
