package inbox_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// reviewedTeam is a team whose dev's work rev must approve, or a person.
func reviewedTeam(approver, rev string) map[string]string {
	return map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {provider: script, script: dev.yaml}\n",
			"  dev: {provider: script, script: dev.yaml}\n  rev: {provider: script, script: rev.yaml}\n", 1) +
			"  rev: {model: rev}\ndefaults: {permission_mode: bypassPermissions}\n" +
			"gates: {task: [\"test -e made || { echo nothing is made; exit 1; }\", {approve: " + approver + "}]}\n" +
			"tasks: [{id: a, subject: Make it, owner: dev}]\n",
		"lead.yaml": "steps: [{say: well, times: -1}]\n",
		"rev.yaml":  rev,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: nothing is made
    call: [{tool: Bash, input: {command: "echo ran >>made"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: "approve\":false"
    call: [{tool: Bash, input: {command: "echo mended >>made"}}, {tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: "approve\":true"
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: it waits for the approval of
    say: I wait.
    times: 2
  - {say: done, times: -1}
`,
	}
}

const strictReviewer = `steps:
  - when: '"type":"approval_request"'
    call: [{tool: SendMessage, input: {to: dev, message: {type: approval_response, request_id: dev, approve: false, feedback: mend it}}}]
  - {say: looked}
  - when: '"type":"approval_request"'
    call: [{tool: SendMessage, input: {to: dev, message: {type: approval_response, request_id: dev, approve: true}}}]
  - {say: looked, times: -1}
`

// TestApprovalByAMember: the gates come first, then the approver is asked, and
// asked anew after a no; the task is completed once and with approval.
func TestApprovalByAMember(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, reviewedTeam("rev", strictReviewer))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "ran\nmended\n" {
		t.Errorf("made %q", r.Made())
	}
	var states []string
	for _, q := range teamtest.Of[requests.Request](r, "request") {
		if q.Kind != requests.AskApproval || q.Member != "dev" || q.To != "rev" || inbox.PayloadOf(q).TaskID != "1" {
			t.Errorf("asked %+v", q)
		}
		states = append(states, string(q.State))
	}
	if got := strings.Join(states, " "); got != "open denied open approved" {
		t.Errorf("requests went %s", got)
	}
	ops := map[tasks.Op]int{}
	for _, c := range teamtest.Of[tasks.Change](r, "task") {
		ops[c.Op]++
		if c.Op == tasks.Awaits && c.Reason != "the approval of rev" {
			t.Errorf("the task waits for %q", c.Reason)
		}
	}
	if ops[tasks.Awaits] != 2 || ops[tasks.Refused] != 1 {
		t.Errorf("what became of completions: %v", ops)
	}
	waited := 0
	for _, f := range teamtest.Of[events.HookFinished](r, "hook_finished") {
		if f.Command == "approve:rev" && f.Outcome == "await" && f.Awaits == "the approval of rev" {
			waited++
		}
	}
	if waited != 3 { // also beside the gate that refuses
		t.Errorf("the gate waited %d times", waited)
	}
	var waits int
	for _, back := range teamtest.Of[events.ToolReturned](r, "tool_result") {
		if strings.Contains(back.Content, "Task 1 is not completed yet: it waits for the approval of rev") {
			waits++
		}
		if strings.Contains(back.Content, "needs the approval") {
			t.Errorf("dev was told of approval while its tests failed: %q", back.Content)
		}
	}
	if waits != 2 {
		t.Errorf("dev was told %d times to wait", waits)
	}
}

// TestApprovalByAPerson: it waits though nobody is attached, for the spec names a
// person, and until then nobody is reminded of the task.
func TestApprovalByAPerson(t *testing.T) {
	t.Parallel()
	u := teamtest.Start(teamtest.NewRig(t, reviewedTeam("person", "steps: [{say: hm, times: -1}]\n")), &teamtest.HandClock{})
	r := u.Asked(requests.AskApproval)
	u.Lines.Wait(t, "dev at rest", func(l events.Line) bool {
		return l.Type == "text" && strings.Contains(string(l.Data), "I wait.")
	})
	if r.To != actors.Operator || !strings.Contains(r.Text, "task 1 (Make it)") {
		t.Errorf("asked %+v", r)
	}
	testkit.Eventually(t, "dev to wait in ps", func() bool {
		return u.Member("dev").WaitsFor == "a person's approval of task 1"
	})
	before := len(teamtest.Of[events.TurnStarted](u.Rig, "turn_started"))
	time.Sleep(100 * time.Millisecond) // a reminder would come at once
	if after := len(teamtest.Of[events.TurnStarted](u.Rig, "turn_started")); after != before {
		t.Errorf("%d turns began while it waited", after-before)
	}
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// TestApprovalOfWhatIsDone: once a person has completed the task by force nobody is
// asked about it any more.
func TestApprovalOfWhatIsDone(t *testing.T) {
	t.Parallel()
	u := teamtest.Start(teamtest.NewRig(t, reviewedTeam("person", "steps: [{say: hm, times: -1}]\n")), &teamtest.HandClock{})
	r := u.Asked(requests.AskApproval)
	done := tasks.Completed
	if _, err := u.Client().UpdateTask(t.Context(), api.TaskUpdate{ID: "1", Status: &done, Force: true}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the question to be withdrawn", func(l events.Line) bool {
		got, ok := teamtest.RequestOf(l)
		return ok && got.ID == r.ID && got.State == requests.Withdrawn
	})
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// TestRemindersOfTwoKindsEnd: who owes an answer and has an open task is reminded of
// both, each three times, and then let alone: reminders of the one are no news that
// would start those of the other again.
func TestRemindersOfTwoKindsEnd(t *testing.T) {
	t.Parallel()
	files := reviewedTeam("rev", "steps: [{say: hm, times: -1}]\n")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "owner: dev}]",
		"owner: dev}, {id: b, subject: Look, owner: rev}]", 1)
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	told := u.Lines.Wait(t, "the first reminder", func(l events.Line) bool {
		return l.Member == "rev" && l.Type == "turn_started" && strings.Contains(string(l.Data),
			"others wait for your answer")
	})
	u.Lines.Wait(t, "rev to need attention", func(l events.Line) bool {
		return l.Seq > told.Seq && l.Member == "rev" && l.Type == "needs_attention"
	})
	u.Stop(errors.New("enough"))
	u.End()
	var nudges int
	for _, l := range u.Lines.All() {
		if l.Member == "rev" && l.Type == "turn_started" && teamtest.CauseIn(t, l) == events.ByNudge {
			nudges++
		}
	}
	if nudges < 2*plan.MaxNudges || nudges > 3*plan.MaxNudges {
		t.Errorf("rev was reminded %d times", nudges)
	}
}

// TestApprovalTimeLimit: an approver that is silent is reminded, and in the end
// its silence is a no; the team comes to an end.
func TestApprovalTimeLimit(t *testing.T) {
	t.Parallel()
	clock := &teamtest.HandClock{}
	files := reviewedTeam("rev", "steps: [{say: hm, times: -1}]\n")
	files["team.yaml"] += "ask_limit: 1h\n"
	u := teamtest.Start(teamtest.NewRig(t, files), clock)
	u.Asked(requests.AskApproval)
	reminders := 0
	seen := map[uint64]bool{}
	u.Lines.Wait(t, "the last reminder", func(l events.Line) bool {
		if !seen[l.Seq] && l.Member == "rev" && l.Type == "turn_started" &&
			strings.Contains(string(l.Data), "others wait for your answer") {
			reminders++
		}
		seen[l.Seq] = true
		return reminders == plan.MaxNudges
	})
	clock.Forward(61 * time.Minute)
	u.Lines.Wait(t, "the end of its time", func(l events.Line) bool {
		q, ok := teamtest.RequestOf(l)
		return ok && q.State == requests.Expired
	})
	// The news reaches dev between two turns, or in one that has not ended yet.
	news := u.Lines.Wait(t, "the news", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"to":"dev"`) &&
			strings.Contains(string(l.Data), "rev has not answered about task 1 in time")
	})
	var message struct{ ID string }
	testkit.Must(t, json.Unmarshal(news.Data, &message))
	u.Lines.Wait(t, "its delivery", func(l events.Line) bool {
		return l.Member == "dev" && l.Type == "message_delivered" && strings.Contains(string(l.Data), message.ID)
	})
	u.Want(u.End(), orchestrator.CodeUnfinished, "")
}

// TestApprovalOfOnesOwnWork: nobody is asked about what it has done itself.
func TestApprovalOfOnesOwnWork(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, reviewedTeam("dev", "steps: [{say: hm, times: -1}]\n"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if n := len(teamtest.Of[requests.Request](r, "request")); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// secondThoughts is a team in a repository whose ana changes her work once more after a
// yes. members says where they work.
func secondThoughts(members string) map[string]string {
	files := teamtest.GroveFiles("true", "true", "gates: {task: [{approve: ben}]}\n")
	files["team.yaml"] = strings.Replace(strings.Replace(files["team.yaml"],
		", {id: b, subject: B, owner: ben}", "", 1),
		"lead: {model: lead}\nteammates:\n  ana: {model: ana}\n  ben: {model: ben}\n", members, 1)
	files["ana.yaml"] = `steps:
  - call:
      - {tool: Bash, input: {command: "echo a >a.txt"}}
      - {tool: TaskUpdate, input: {taskId: "1", status: completed}}
  - when: "approve\":true"
    call:
      - {tool: Bash, input: {command: "git add a.txt; git commit -qm same; echo later >>a.txt"}}
      - {tool: TaskUpdate, input: {taskId: "1", status: completed}}
  - when: "approve\":true"
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: I wait., times: -1}
`
	files["ben.yaml"] = `steps:
  - when: '"type":"approval_request"'
    call: [{tool: SendMessage, input: {to: ana, message: {type: approval_response, request_id: ana, approve: true}}}]
    times: 2
  - {say: looked, times: -1}
`
	return files
}

// TestApprovalIsOfATree: a yes is for the files as they were, so work that goes on after
// it is asked about anew; where several write in one folder no tree is one member's.
func TestApprovalIsOfATree(t *testing.T) {
	t.Parallel()
	reads := "tools: [Read, SendMessage]"
	for name, c := range map[string]struct{ members, want string }{
		"in a working copy": {
			"lead: {model: lead}\nteammates: {ana: {model: ana}, ben: {model: ben}}\n", "open approved open approved",
		},
		"alone in the workspace": {
			"lead: {model: lead, " + reads + "}\nteammates: {ana: {model: ana}, ben: {model: ben, " + reads + "}}\n",
			"open approved open approved",
		},
		"with others": {
			"lead: {model: lead, " + reads + "}\nteammates: {ana: {model: ana, isolation: shared}, " +
				"ben: {model: ben, isolation: shared}}\n", "open approved",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := teamtest.NewGrove(t, secondThoughts(c.members))
			g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			var states, trees []string
			for _, q := range teamtest.Of[requests.Request](g.Rig, "request") {
				states = append(states, string(q.State))
				if tree := inbox.PayloadOf(q).Tree; q.Open() && tree != "" {
					trees = append(trees, tree)
					if !strings.Contains(q.Text, "tree "+tree[:10]) {
						t.Errorf("ben was asked %q", q.Text)
					}
				}
			}
			if got := strings.Join(states, " "); got != c.want {
				t.Errorf("requests went %s, want %s", got, c.want)
			}
			if len(trees) == 2 && trees[0] == trees[1] || len(trees) == 1 {
				t.Errorf("asked about the trees %v", trees)
			}
		})
	}
}

// TestApprovalOfOlderWorkIsTakenBack: whoever is asked about work that went on is asked
// about it as it is now, and about nothing else.
func TestApprovalOfOlderWorkIsTakenBack(t *testing.T) {
	t.Parallel()
	files := secondThoughts("lead: {model: lead}\nteammates: {ana: {model: ana}, ben: {model: ben}}\n")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "approve: ben", "approve: person", 1)
	u := teamtest.Start(teamtest.NewGrove(t, files).Rig, &teamtest.HandClock{})
	first := u.Asked(requests.AskApproval)
	if _, err := u.Client().Send(t.Context(), api.Send{To: "ana", Text: `go on, as if "approve":true`}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the first question to be withdrawn", func(l events.Line) bool {
		got, ok := teamtest.RequestOf(l)
		return ok && got.ID == first.ID && got.State == requests.Withdrawn
	})
	var second requests.Request
	u.Lines.Wait(t, "the second question", func(l events.Line) bool {
		got, ok := teamtest.RequestOf(l)
		second = got
		return ok && got.Open() && got.ID != first.ID
	})
	if inbox.PayloadOf(second).Tree == inbox.PayloadOf(first).Tree {
		t.Errorf("asked %+v, then %+v", first, second)
	}
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: second.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// TestUnansweredQuestionCostsNoMore: an approver is reminded of a question three times in
// all. Neither messages nor restarts begin that anew; after that it gets turns for other
// reasons alone.
func TestUnansweredQuestionCostsNoMore(t *testing.T) {
	t.Parallel()
	files := reviewedTeam("rev", "steps: [{say: hm, times: -1}]\n")
	files["team.yaml"] += "ask_limit: 1h\n"
	r := teamtest.NewRig(t, files)
	reminders := func() (n int) {
		for _, l := range r.Lines.All() {
			if l.Member == "rev" && l.Type == "turn_started" && strings.Contains(string(l.Data),
				"others wait for your answer") {
				n++
			}
		}
		return n
	}
	// The end of the turn for a message, behind which a reminder would come at once.
	wake := func(u *teamtest.Underway, text string) {
		t.Helper()
		if _, err := u.Client().Send(t.Context(), api.Send{To: "rev", Text: text}); err != nil {
			t.Fatal(err)
		}
		begun := u.Lines.Wait(t, "the turn for "+text, func(l events.Line) bool {
			return l.Member == "rev" && l.Type == "turn_started" && strings.Contains(string(l.Data), text)
		})
		u.Lines.Wait(t, "its end", func(l events.Line) bool {
			return l.Member == "rev" &&
				l.Type == "idle" && l.Seq > begun.Seq
		})
	}
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Asked(requests.AskApproval)
	seen := map[uint64]bool{}
	last := u.Lines.Wait(t, "the last reminder", func(l events.Line) bool {
		if l.Member == "rev" && l.Type == "turn_started" && strings.Contains(string(l.Data),
			"others wait for your answer") {
			seen[l.Seq] = true
		}
		return len(seen) == plan.MaxNudges
	})
	u.Lines.Wait(t, "its end", func(l events.Line) bool {
		return l.Member == "rev" && l.Type == "idle" &&
			l.Seq > last.Seq
	})
	for _, text := range []string{"one word", "another word", "the last word"} {
		wake(u, text)
	}
	if n := reminders(); n != plan.MaxNudges {
		t.Errorf("reminded %d times in the first run", n)
	}
	u.Stop(errors.New("enough"))
	u.End()
	u = teamtest.Start(r, &teamtest.HandClock{})
	u.Lines.Wait(t, "rev to be back", func(l events.Line) bool {
		return l.Member == "rev" &&
			l.Type == "member_started"
	})
	wake(u, "after the restart")
	wake(u, "and once more")
	if n := reminders(); n != 0 {
		t.Errorf("reminded %d times more in the second run", n)
	}
	u.Stop(errors.New("enough"))
	u.End()
}
