package orchestrator

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// tellsLater is a lead whose message to dev waits for two tasks of its own.
const tellsLater = `{call: [{tool: SendMessage, input: {to: dev, message: Put them together., summary: join, wait_for: ["1", "#2"]}}]}`

// A member is woken once for mail that waits for several tasks: when the last is done.
func TestMailWaitsForTasks(t *testing.T) {
	t.Parallel()
	const ends = `, {call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]},
  {call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}, {say: Done., times: -1}]`
	r := newRig(t, map[string]string{
		"team.yaml": pairSpec + "tasks: [{id: a, subject: A, owner: lead}, {id: b, subject: B, owner: lead}]\n",
		"lead.yaml": "steps: [" + tellsLater + ends + "\n", "dev.yaml": "steps: [{say: I put them together., times: -1}]\n",
	})
	if ending := r.run(Options{}); ending.Code != 0 {
		t.Errorf("the team ends with %+v", ending)
	}
	done, turns := 0, 0
	for _, l := range r.lines.all() {
		if l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`) {
			done++
		}
		if l.Type == "turn_started" && l.Member == "dev" {
			if turns++; done != 2 {
				t.Errorf("dev is woken when %d of 2 tasks are done", done)
			}
		}
	}
	if turns != 1 {
		t.Errorf("dev took %d turns, want 1:\n%s", turns, show(r.lines.all()))
	}
}

// Mail for tasks that nobody does keeps no team up, and the end names it. It is there in
// the next run.
func TestMailWaitsForNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"team.yaml": pairSpec + "tasks: [{id: a, subject: A, owner: lead}, {id: b, subject: B, blocked_by: [a]}]\n",
		"lead.yaml": "steps: [" + tellsLater + ", {say: I do nothing., times: -1}]\n",
		"dev.yaml":  "steps: [{say: Read., times: -1}]\n",
	})
	for range 2 {
		ending := r.run(Options{})
		if want := "mail for dev waits for tasks 1 and 2"; ending.Code != 1 || !strings.Contains(ending.Reason, want) {
			t.Errorf("the team ends with %+v, want code 1 and %q", ending, want)
		}
	}
}

// What cannot be waited for is refused before anything is stored.
func TestWaitForMistakes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"to":"dev","message":"hi","wait_for":["1","9"]}`:                          `there is no task`,
		`{"to":"dev","message":"hi","waitFor":["x"]}`:                               `there is no task`,
		`{"to":"dev","message":{"type":"shutdown_request"},"wait_for":["1"]}`:       "only a text can wait",
		`{"to":"dev","message":"{\"type\":\"shutdown_request\"}","wait_for":["1"]}`: "only a text can wait",
	} {
		r := newRig(t, map[string]string{
			"team.yaml": pairSpec + "tasks: [{id: a, subject: A, owner: lead}]\n",
			"lead.yaml": "steps:\n  - call: [{tool: SendMessage, input: " + in + "}]\n" +
				"  - {call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n  - {say: Done., times: -1}\n",
			"dev.yaml": "steps: [{say: Read., times: -1}]\n",
		})
		r.run(Options{})
		for _, m := range of[tasks.Message](r, "message") {
			if m.To == "dev" && m.Kind == tasks.TextMessage {
				t.Errorf("%s is stored: %+v", in, m)
			}
		}
		if text := show(r.lines.all()); !strings.Contains(text, want) {
			t.Errorf("%s: nothing says %q:\n%s", in, want, text)
		}
	}
}
