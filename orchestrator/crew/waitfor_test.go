package crew_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// tellsLater is a lead whose message to dev waits for two tasks of its own.
const tellsLater = `{call: [{tool: SendMessage, input: {to: dev, message: Put them together., summary: join, wait_for: ["1", "#2"]}}]}`

// A member is woken once for mail that waits for several tasks: when the last is done.
func TestMailWaitsForTasks(t *testing.T) {
	t.Parallel()
	const ends = `, {call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]},
  {call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}, {say: Done., times: -1}]`
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: A, owner: lead}, {id: b, subject: B, owner: lead}]\n",
		"lead.yaml": "steps: [" + tellsLater + ends + "\n", "dev.yaml": "steps: [{say: I put them together., times: -1}]\n",
	})
	if ending := r.Run(orchestrator.Options{}); ending.Code != 0 {
		t.Errorf("the team ends with %+v", ending)
	}
	done, turns := 0, 0
	for _, l := range r.Lines.All() {
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
		t.Errorf("dev took %d turns, want 1:\n%s", turns, teamtest.Show(r.Lines.All()))
	}
}

// Mail for tasks that nobody does keeps no team up, and the end names it. It is there in
// the next run.
func TestMailWaitsForNothing(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: A, owner: lead}, {id: b, subject: B, blocked_by: [a]}]\n",
		"lead.yaml": "steps: [" + tellsLater + ", {say: I do nothing., times: -1}]\n",
		"dev.yaml":  "steps: [{say: Read., times: -1}]\n",
	})
	for range 2 {
		ending := r.Run(orchestrator.Options{})
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
		r := teamtest.NewRig(t, map[string]string{
			"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: A, owner: lead}]\n",
			"lead.yaml": "steps:\n  - call: [{tool: SendMessage, input: " + in + "}]\n" +
				"  - {call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n  - {say: Done., times: -1}\n",
			"dev.yaml": "steps: [{say: Read., times: -1}]\n",
		})
		r.Run(orchestrator.Options{})
		for _, m := range teamtest.Of[mail.Message](r, "message") {
			if m.To == "dev" && m.Kind == mail.Text {
				t.Errorf("%s is stored: %+v", in, m)
			}
		}
		if text := teamtest.Show(r.Lines.All()); !strings.Contains(text, want) {
			t.Errorf("%s: nothing says %q:\n%s", in, want, text)
		}
	}
}

// Mail for tasks 2 and 3 is there once, and no turn begins for it earlier, though covey is
// killed before they are done, between them, and while its receiver has just read it.
func TestMailWaitsOverKills(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, waitForKills())
	for _, moment := range []string{"sent", "between", "read"} {
		if r.RunAndKill(1, func() { testkit.AwaitFile(t, filepath.Join(r.Dir, moment), "") }) {
			t.Fatalf("the team ended before the moment %q", moment)
		}
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	checkJoined(r)
}

// The last of the tasks is done and covey is killed before it has told anybody: the next run
// finds the mail readable.
func TestMailWaitsWhileCoveyIsDown(t *testing.T) {
	t.Parallel()
	files := waitForKills()
	files["dev.yaml"] = "steps: [{say: I put them together., times: -1}]\n"
	r := teamtest.NewRig(t, files)
	for _, moment := range []string{"sent", "between"} {
		if r.RunAndKill(1, func() { testkit.AwaitFile(t, filepath.Join(r.Dir, moment), "") }) {
			t.Fatalf("the team ended before the moment %q", moment)
		}
	}
	store, err := tasks.Open(r.Place().Store(), &tasks.Options{BlobDir: r.Place().Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	done := tasks.Completed
	_, _, err = store.Update(t.Context(), actors.Actor{Name: "lead"}, "3", tasks.Patch{Status: &done})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	checkJoined(r)
}

// waitForKills is a lead whose message to dev waits for tasks 2 and 3 of its own. It comes to
// rest where a test kills covey: the file of a moment says that it has come there.
func waitForKills() map[string]string {
	rest := func(moment string) string {
		return fmt.Sprintf(`{call: [{tool: Bash, input: {command: "touch %s; sleep 600"}}]}`, moment)
	}
	done := func(id string) string {
		return fmt.Sprintf(`{call: [{tool: TaskUpdate, input: {taskId: %q, status: completed}}]}`, id)
	}
	lead := []string{strings.Replace(tellsLater, `["1", "#2"]`, `["2", "#3"]`, 1), rest("sent"), done("1"), done("2"),
		rest("between"), done("3"), "{say: Done., times: -1}"}
	return map[string]string{
		"team.yaml": testkit.PairSpec + "defaults: {permission_mode: bypassPermissions}\n" +
			"tasks: [{id: a, subject: A, owner: lead}, {id: b, subject: B, owner: lead}, {id: c, subject: C, owner: lead}]\n",
		"lead.yaml": "steps:\n  - " + strings.Join(lead, "\n  - ") + "\n",
		"dev.yaml":  "steps:\n  - " + rest("read") + "\n  - {say: I put them together., times: -1}\n",
	}
}

// checkJoined looks at all lives of such a team: dev takes its first turn when tasks 2 and 3
// are done, each of them once, and reads the message once.
func checkJoined(r *teamtest.Rig) {
	r.T.Helper()
	data, err := os.ReadFile(r.Place().Journal())
	if err != nil {
		r.T.Fatal(err)
	}
	var done []string
	turns := 0
	for text := range strings.Lines(string(data)) {
		var l events.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.T.Fatalf("a torn line in the journal: %q", text)
		}
		var change tasks.Change
		if l.Type == "task" && json.Unmarshal(l.Data, &change) == nil && change.Op == tasks.TaskCompleted {
			done = append(done, change.Task.ID)
		}
		if l.Type == "turn_started" && l.Member == "dev" {
			if turns++; len(done) != 3 {
				r.T.Errorf("turn %d of dev begins when tasks %q are done", turns, done)
			}
		}
	}
	if got := strings.Join(done, " "); got != "1 2 3" {
		r.T.Errorf("tasks were completed as %q, want each once", got)
	}
	shown := map[string]int{}
	for _, path := range teamtest.GlobAll(r.T, r.Place().Transcripts()) {
		r.CheckTranscript(path, shown)
	}
	if n := shown["Put them together.</teammate-message>"]; n != 1 {
		r.T.Errorf("dev was shown the message %d times: %v", n, shown)
	}
}
