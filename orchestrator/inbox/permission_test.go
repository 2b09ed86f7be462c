package inbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
)

// asksFirst is a team whose dev asks before it runs a command, with what the spec
// has besides.
func asksFirst(more string) map[string]string {
	return map[string]string{
		"team.yaml": testkit.PairSpec + more + "tasks: [{id: a, subject: Look around, owner: dev}]\n",
		"lead.yaml": "steps: [{say: well, times: -1}]\n",
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: "echo ran >>made"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`,
	}
}

// TestPermissionWaitsInTheInbox: a call waits for a person, ps says so, and the
// answer decides; the second answer hears who was first.
func TestPermissionWaitsInTheInbox(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer api.InboxAnswer
		made   string
		said   string
	}{
		"yes":             {api.InboxAnswer{Approve: true}, "ran\n", ""},
		"no, with advice": {api.InboxAnswer{Feedback: "use Read"}, "", "operator said no. What they said: use Read"},
	} {
		t.Run(name, func(t *testing.T) {
			// The gate keeps the team up until the second answer.
			u := teamtest.Start(teamtest.NewRig(t, asksFirst("on_ask: wait\ngates: {task: ['until test -f go; do sleep 0.02; done']}\n")), &teamtest.HandClock{})
			r := u.Asked(requests.AskPermission)
			c := u.Client()
			testkit.Eventually(t, "dev waits", func() bool { // it is shown a moment after the request
				m := u.Member("dev")
				return m.State == api.Waiting && strings.HasPrefix(m.WaitsFor, "permission to use Bash: ")
			})
			list, err := c.Inbox(t.Context(), api.InboxQuery{})
			if err != nil || len(list) != 1 || list[0].ID != r.ID || list[0].To != actors.Operator ||
				!strings.Contains(list[0].Text, "echo ran >>made") {
				t.Fatalf("the inbox has %+v (%v)", list, err)
			}
			if st, err := c.Status(t.Context()); err != nil || st.Requests != 1 {
				t.Errorf("%d questions (%v)", st.Requests, err)
			}
			tc.answer.ID = "dev"
			if _, err := c.AnswerInbox(t.Context(), tc.answer); !errors.Is(err, tasks.ErrNotFound) {
				t.Errorf("answered by a name, of whatever it asks now: %v", err)
			}
			tc.answer.ID = strings.ToUpper(r.ID)
			if _, err := c.AnswerInbox(t.Context(), tc.answer); err != nil {
				t.Fatal(err)
			}
			tc.answer.ID = r.ID
			_, err = c.AnswerInbox(t.Context(), tc.answer)
			if !errors.Is(err, tasks.ErrAnswered) || !strings.Contains(err.Error(), "by operator") {
				t.Errorf("a second answer: %v", err)
			}
			testkit.Put(t, u.Dir, "go", "")
			u.Want(u.End(), orchestrator.CodeDone, "all work is done")
			if got := u.Made(); got != tc.made {
				t.Errorf("the command wrote %q", got)
			}
			if results := teamtest.Of[events.ToolReturned](u.Rig,
				"tool_result"); !strings.Contains(results[1].Content, tc.said) {
				t.Errorf("dev read %q", results[1].Content)
			}
		})
	}
}

// TestPermissionWithNobodyThere: without anybody attached a call is denied at
// once, and nothing is left in the inbox.
func TestPermissionWithNobodyThere(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, asksFirst(""))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "" || len(teamtest.Of[requests.Request](r, "request")) != 0 {
		t.Errorf("it ran, or was asked about: %q", r.Made())
	}
	if decided := teamtest.Of[events.PermissionDecided](r, "permission"); decided[1].By != "nobody" {
		t.Errorf("decided %+v", decided)
	}
}

// TestPermissionOfWhoIsAttached: somebody who watches can be asked.
func TestPermissionOfWhoIsAttached(t *testing.T) {
	t.Parallel()
	files := asksFirst("keep: true\n")
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", owner: dev", "", 1)
	files["dev.yaml"] = "steps:\n  - when: look now\n    call: [{tool: Bash, input: {command: \"echo ran >>made\"}}]\n" +
		"  - {say: soon, times: -1}\n"
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	u.Until("idle", 1)
	c := u.Client()
	if _, err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), api.Send{To: "dev", Text: "look now"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AnswerInbox(t.Context(), api.InboxAnswer{ID: u.Asked(requests.AskPermission).ID,
		Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the command", func(l events.Line) bool { return u.Made() != "" })
	if _, err := c.Down(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	u.End()
}

// TestPermissionTimeLimit: nobody answers in time, which is a no; the clock on
// the wall may jump before without ending anything.
func TestPermissionTimeLimit(t *testing.T) {
	t.Parallel()
	clock := &teamtest.HandClock{}
	u := teamtest.Start(teamtest.NewRig(t, asksFirst("on_ask: wait\nask_limit: 1h\n")), clock)
	r := u.Asked(requests.AskPermission)
	if left := r.Deadline.Sub(r.Created); left != time.Hour {
		t.Errorf("it may wait %v", left)
	}
	clock.Forward(30 * time.Minute)
	if list, err := u.Client().Inbox(t.Context(), api.InboxQuery{}); err != nil || len(list) != 1 {
		t.Fatalf("after half an hour there are %d questions (%v)", len(list), err)
	}
	clock.Forward(31 * time.Minute)
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if decided := teamtest.Of[events.PermissionDecided](u.Rig, "permission"); decided[1].By != teammate.ByTimeLimit {
		t.Errorf("decided %+v", decided)
	}
	if u.Made() != "" {
		t.Error("it ran")
	}
}

// TestPermissionOfAnInterruptedTurn: who breaks off the turn takes the question
// back.
func TestPermissionOfAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	u := teamtest.Start(teamtest.NewRig(t, asksFirst("on_ask: wait\nkeep: true\n")), &teamtest.HandClock{}) // else the team may end before the answer
	r := u.Asked(requests.AskPermission)
	c := u.Client()
	if reply, err := c.Interrupt(t.Context(), api.InterruptRequest{Member: "dev"}); err != nil || !reply.Interrupted {
		t.Fatalf("interrupted %+v (%v)", reply, err)
	}
	u.Lines.Wait(t, "the end of the question", func(l events.Line) bool {
		now, ok := teamtest.RequestOf(l)
		return ok && now.ID == r.ID && now.State == requests.Withdrawn
	})
	_, err := c.AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true})
	if !errors.Is(err, tasks.ErrAnswered) || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("answered all the same: %v", err)
	}
	u.Stop(errors.New("enough"))
	u.End()
}

// TestPermissionOverARestart: a question outlives the run that asked it. The
// member makes the call again, asks the same question, and the answer holds.
func TestPermissionOverARestart(t *testing.T) {
	t.Parallel()
	files := asksFirst("on_ask: wait\n")
	// The call that was cut off is told so, and made again.
	files["dev.yaml"] = strings.Replace(files["dev.yaml"], "echo ran >>made\"}}]\n",
		"echo ran >>made\"}}]\n    times: 2\n", 1)
	rig := teamtest.NewRig(t, files)
	u := teamtest.Start(rig, &teamtest.HandClock{})
	r := u.Asked(requests.AskPermission)
	u.Stop(errors.New("enough"))
	u.End()
	u = teamtest.Start(rig, &teamtest.HandClock{})
	u.Lines.Wait(t, "the call once more", func(l events.Line) bool {
		return l.Type == "tool_call" &&
			strings.Contains(string(l.Data), "Bash")
	})
	list, err := u.Client().Inbox(t.Context(), api.InboxQuery{})
	if err != nil || len(list) != 1 || list[0].ID != r.ID {
		t.Fatalf("the inbox has %+v (%v), want %s alone", list, err, r.ID)
	}
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if u.Made() != "ran\n" {
		t.Errorf("the command wrote %q", u.Made())
	}
}

// TestTroubleIsInTheInbox: a member that needs attention is an entry; yes sends it
// on, and the entry goes when it works again.
func TestTroubleIsInTheInbox(t *testing.T) {
	t.Parallel()
	u := teamtest.Start(teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "keep: true\ntasks: [{id: a, subject: Try, owner: dev}]\n",
		"lead.yaml": "steps: [{say: well, times: -1}]\n",
		"dev.yaml": `steps:
  - when: try it so
    call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}, {tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: I do not know how, times: -1}
`,
	}), &teamtest.HandClock{})
	r := u.Asked(requests.AskAttention)
	if r.Member != "dev" || !r.Deadline.IsZero() || !strings.Contains(r.Text, "reminded 3 times") {
		t.Errorf("asked %+v", r)
	}
	c := u.Client()
	if _, err := c.AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true, Feedback: "try it so"}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the task's end", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if list, err := c.Inbox(t.Context(), api.InboxQuery{}); err != nil || len(list) != 0 {
		t.Errorf("the inbox has %+v (%v)", list, err)
	}
	if _, err := c.Down(context.WithoutCancel(t.Context()), ""); err != nil {
		t.Fatal(err)
	}
	u.End()
}
