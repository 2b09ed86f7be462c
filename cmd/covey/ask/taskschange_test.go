package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestMetadataValues: a value is JSON if it can be read as such, else text.
func TestMetadataValues(t *testing.T) {
	for _, tc := range []struct{ pair, key, want string }{
		{"n=7", "n", "7"},
		{"who=me", "who", `"me"`},
		{`who="me"`, "who", `"me"`},
		{"gone=null", "gone", "null"},
		{"list=[1, 2]", "list", "[1, 2]"},
		{"url=http://x/?a=b", "url", `"http://x/?a=b"`},
		{"empty=", "empty", `""`},
		{"broken={", "broken", `"{"`},
	} {
		t.Run(tc.pair, func(t *testing.T) {
			got, err := (&changeFlags{metadata: []string{tc.pair}}).values()
			if err != nil || len(got) != 1 || string(got[tc.key]) != tc.want {
				t.Errorf("%s (%v), want %s", got, err, tc.want)
			}
		})
	}
	for _, pair := range []string{"", "key", "=value"} {
		if _, err := (&changeFlags{metadata: []string{pair}}).values(); !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%q: %v", pair, err)
		}
	}
}

// change parses the flags of `covey tasks update`.
func change(t *testing.T, args ...string) (api.TaskUpdate, error) {
	t.Helper()
	var change taskChange
	var f changeFlags
	cmd := &cobra.Command{Use: "update"}
	change.add(cmd)
	f.addMetadata(cmd)
	f.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return change.request(cmd, &f)
}

// TestTaskChange: a flag that was not given changes nothing, and one that was
// changes even to nothing.
func TestTaskChange(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"status", []string{"--status", "completed"}, `{"id":"","status":"completed"}`},
		{"deletion, by force", []string{"--status", "deleted", "--force"}, `{"id":"","status":"deleted","force":true}`},
		{"owner", []string{"--owner", "ana", "--as", "lead"}, `{"id":"","owner":"ana","as":"lead"}`},
		{"no owner", []string{"--owner", ""}, `{"id":"","owner":""}`},
		{"no description", []string{"--description="}, `{"id":"","description":""}`},
		{"texts", []string{"--subject", "S", "--active-form", "A"}, `{"id":"","subject":"S","active_form":"A"}`},
		{"links", []string{"--blocks", "1,2", "--blocked-by", "3"}, `{"id":"","add_blocks":["1","2"],"add_blocked_by":["3"]}`},
		{"metadata", []string{"--metadata", "a=null"}, `{"id":"","metadata":{"a":null}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := change(t, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(req)
			if err != nil || string(got) != tc.want {
				t.Errorf("%s (%v), want %s", got, err, tc.want)
			}
		})
	}
	for _, args := range [][]string{nil, {"--force"}, {"--as", "ana"}, {"--status", "done"}, {"--metadata", "x"}} {
		if _, err := change(t, args...); !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestAnswer: a refusal is an error with all that was said; JSON has no null
// lists.
func TestAnswer(t *testing.T) {
	c, out, _ := program()
	task := tasks.Task{ID: "3", Subject: "Do\x1b it", Status: tasks.Pending}
	if err := printAnswer(c.Out, api.TaskReply{Task: task}, &changeFlags{}, "created"); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "task 3 created: Do\\x1b it\n" {
		t.Errorf("printed %q", got)
	}
	refused := api.TaskReply{Task: task, Refused: []string{"Stop hook feedback:\nno", "and no"}}
	err := printAnswer(c.Out, refused, &changeFlags{json: true}, "created")
	if !errors.Is(err, errRefused) || cli.ExitCode(err) != cli.ExitFailed ||
		!strings.HasSuffix(err.Error(), "\nno\nand no") {
		t.Errorf("a refusal: %v", err)
	}
	out.Reset()
	if err := printAnswer(c.Out, api.TaskReply{Task: task}, &changeFlags{json: true}, "created"); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte("null")) || !json.Valid(out.Bytes()) {
		t.Errorf("JSON %s", out)
	}
}

func TestCheckStatus(t *testing.T) {
	for _, tc := range []struct {
		status   string
		deleting bool
		ok       bool
	}{
		{"", false, true}, {"pending", false, true}, {"in_progress", false, true}, {"completed", true, true},
		{"deleted", true, true}, {"deleted", false, false}, {"done", true, false}, {"Pending", false, false},
		{"proposed", true, false},
	} {
		if err := checkStatus(tc.status, tc.deleting); (err == nil) != tc.ok || err != nil &&
			!errors.Is(err, cli.ErrUsage) {
			t.Errorf("checkStatus(%q, %t) = %v", tc.status, tc.deleting, err)
		}
	}
}

// TestPrintTasks: what a task waits for is what is still open.
func TestPrintTasks(t *testing.T) {
	c, out, _ := program()
	all := graphTasks()
	printTasks(c.Out, all[1:5], all)
	want := `ID  STATUS       OWNER  WAITS FOR  SUBJECT
2   in_progress  api    -          Server
3   pending      -      -          Page
4   pending      -      2, 3       Try \x1b[31mboth
5   pending      -      4          Say "done" <b>#1</b>
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	out.Reset()
	printTasks(c.Out, nil, all)
	if out.String() != "no tasks\n" {
		t.Errorf("no tasks: %q", out)
	}
}

func TestShowTask(t *testing.T) {
	c, out, _ := program()
	task := tasks.Task{
		ID: "2", Subject: "Server", Status: tasks.InProgress, Owner: "api", Epoch: 3, BlockedBy: []string{"1"},
		Blocks: []string{"4"}, Labels: []string{"go"}, Wants: tasks.Wants{Tools: []string{"Bash"},
			Role: "coder"},
		Metadata:    map[string]json.RawMessage{"b": json.RawMessage(`[1]`), "a": json.RawMessage(`"x"`)},
		Unchanged:   true,
		Description: "All of it.\n\x1b[2JReally.\n",
	}
	verdicts := []requests.Verdict{
		{VerdictKey: requests.VerdictKey{Tree: "0123456789abc"}, Command: "make", Moment: "task",
			Feedback: "\x1b[2Jno\n"},
		{VerdictKey: requests.VerdictKey{Tree: "ab"}, Command: "lint", Moment: "merge", Pass: true,
			Feedback: "fine"},
	}
	standing := api.Standing{
		Verdicts: verdicts,
		Merges:   []tasks.Merge{{State: tasks.MergeDone, Into: "main", Result: "fedcba9876543", Commit: "00"}, {State: tasks.MergeHeld, Reason: "in the\x1b[2J way"}},
		Requests: []requests.Request{{ID: "r7", Kind: requests.AskMerge, To: actors.Operator, Member: "api"}},
	}
	showTask(c.Out, shownTask{task, standing, nil}, []tasks.Task{{ID: "1", Status: tasks.Pending}, task})
	want := `task 2: Server
status       in_progress
owner        api
blocked by   1
waits for    1
awaits       a person's approval of its merge (r7; covey inbox show r7)
blocks       4
labels       go
wants tools  Bash
wants role   coder
epoch        3
metadata     a = "x"
metadata     b = [1]
gate         refuses make (tree 0123456789, task, 0s)
    \x1b[2Jno
gate         agrees lint (tree ab, merge, 0s)
merge        merged into main as fedcba9876
merge        held: in the\x1b[2J way
merge        no change: it was completed without one

All of it.
\x1b[2JReally.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
