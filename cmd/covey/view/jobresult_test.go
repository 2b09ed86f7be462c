package view

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

var update = flag.Bool("update", false, "write docs/ci-result.schema.json anew")

// unmasked is for tests without secrets.
func unmasked(text string) string { return text }

// jobOf returns a job with two tasks, of which one was refused and is open, and with gates of all kinds.
func jobOf() Job {
	refused := &view.Gate{Event: "TaskCompleted", Member: "ana", Task: "1", Verdict: view.Refused, Reason: "[x]: no test", Hooks: []view.HookRun{
		{Seq: 1, Command: "go test", Outcome: "blocking", Output: "no test", DurationMS: 1500},
		{Seq: 2, Command: "lint", Outcome: "success", DurationMS: 20},
		{Seq: 3, Command: "watch", Outcome: "success", Observed: "block"},
	}}
	agreed := &view.Gate{Event: "TaskCompleted", Member: "ana", Task: "1", Verdict: view.Agreed, Hooks: []view.HookRun{
		{Seq: 4, Command: "go test", Outcome: "success", DurationMS: 500}, {Command: "lint", Reused: true},
	}}
	halted := &view.Gate{Event: "TeammateIdle", Member: "ben", Verdict: view.Halted, Reason: "go home", Hooks: []view.HookRun{
		{Seq: 5, Command: "idle", Outcome: "success"},
	}}
	waits := &view.Gate{Event: "Stop", Member: "ben", Verdict: view.Awaits, Reason: "the lead", Hooks: []view.HookRun{
		{Seq: 6, Command: "ask", Outcome: "await"},
	}}
	cut := &view.Gate{Event: "TaskCompleted", Merge: "m1", Member: "ben", Verdict: view.Cut, Hooks: []view.HookRun{
		{Seq: 7, Command: "go test", Outcome: "cancelled"}, {Command: "lint"},
	}}
	return Job{
		Team: "crew", Covey: "v0.1.0", Began: time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC), Elapsed: 90 * time.Second,
		Code: 1, Ending: orchestrator.Ending{
			Code: orchestrator.CodeUnfinished, Reason: "ben needs attention", Budget: []events.BudgetUse{{What: "usd", Used: 1, Limit: 5}},
			Members:  []orchestrator.MemberEnding{{Name: "ana", Agent: "claude", State: "idle", Turns: 2, Tokens: 10, TokensUnknown: true, Completed: []string{"1"}}},
			Problems: []string{"ben: lost"},
		},
		State: &view.State{
			Runs: []view.Run{{Goal: "Ship."}},
			Tasks: []*view.Task{
				{Task: tasks.Task{ID: "1", Subject: "Test", Status: tasks.Completed, Owner: "ana"}, Refusals: 1, Returns: []view.Return{{Reason: "no test"}}},
				{Task: tasks.Task{ID: "2", Subject: "Ship", Status: tasks.InProgress, Owner: "ben"}, Returns: []view.Return{{Reason: "not yet"}}},
				{Task: tasks.Task{ID: "3", Subject: "Gone"}, Deleted: true},
			},
			Gates: []*view.Gate{refused, agreed, halted, waits, cut},
		},
	}
}

// The last verdict of each gate on its subject counts; what only observes is left out.
func TestJobResultSumsUpGates(t *testing.T) {
	t.Parallel()
	var got []string
	for _, g := range jobOf().Result(unmasked).Gates {
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	want := []string{
		`{"event":"TaskCompleted","command":"go test","task":"1","member":"ana","verdict":"agreed","refusals":1,"duration_ms":2000}`,
		`{"event":"TaskCompleted","command":"lint","task":"1","member":"ana","verdict":"agreed","refusals":0,"duration_ms":20}`,
		`{"event":"TeammateIdle","command":"idle","member":"ben","verdict":"halted","refusals":0,"reason":"go home","duration_ms":0}`,
		`{"event":"Stop","command":"ask","member":"ben","verdict":"awaits","refusals":0,"reason":"the lead","duration_ms":0}`,
		`{"event":"TaskCompleted","command":"go test","merge":"m1","member":"ben","verdict":"cut","refusals":0,"duration_ms":0}`,
		`{"event":"TaskCompleted","command":"lint","merge":"m1","member":"ben","verdict":"judging","refusals":0,"duration_ms":0}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What gates said is whole, from the journal: the output of a hook, of a long one the end; of a policy,
// which has none, its feedback, and of a hook that ends the turn its message.
func TestJobResultHasWholeReasons(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	long := "the first line" + strings.Repeat(" and more", maxReason/8) + "\nFAIL"
	output, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	lines := []events.Line{
		teamtest.Line(1, "ana", "gate", `{"event":"TaskCompleted","tool_use_id":"u1","task_id":"1"}`),
		teamtest.Line(2, "ana", "hook_finished", `{"event":"TaskCompleted","tool_use_id":"u1","command":"go test","outcome":"blocking","stdout":`+
			string(output)+`}`),
		teamtest.Line(3, "ana", "hook_finished", `{"event":"TaskCompleted","tool_use_id":"u1","command":"owned","outcome":"blocking"}`),
		teamtest.Line(4, "ana", "hook_feedback", `{"event":"TaskCompleted","tool_use_id":"u1","task_id":"1",`+
			`"text":"TaskCompleted hook feedback:\n[owned]: not yours:\na.go\nb.go"}`),
		teamtest.Line(5, "ana", "gate", `{"event":"TeammateIdle","tool_use_id":"u2"}`),
		teamtest.Line(6, "ana", "hook_finished", `{"event":"TeammateIdle","tool_use_id":"u2","command":"idle","outcome":"success"}`),
		teamtest.Line(7, "ana", "hook_stopped_continuation", `{"tool_use_id":"u2","message":"go\nhome"}`),
	}
	teamtest.WriteJournal(t, place, lines...)
	s := &view.State{}
	for _, l := range lines {
		s.Apply(l.Event())
	}
	r := Job{State: s, Place: place}.Result(unmasked)
	var got []string
	for _, g := range r.Gates {
		got = append(got, g.Reason)
	}
	want := []string{"…" + long[len(long)-maxReason:], "not yours:\na.go\nb.go", "go\nhome"}
	if !slices.Equal(got, want) || len(r.Tasks) != 1 || r.Tasks[0].Why != want[1] {
		t.Errorf("got %.200q and %+v, want %.200q", got, r.Tasks, want)
	}
	junit, err := r.JUnit()
	if want := `message="refused: not yours: a.go b.go" type="refused">not yours:&#xA;a.go&#xA;b.go</failure>`; err != nil ||
		!strings.Contains(string(junit), want) {
		t.Errorf("%v, no %s in\n%s", err, want, junit)
	}
}

// There is a word for each way to end; an error of covey's own is the reason of its job.
func TestJobStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]JobStatus{0: JobDone, 1: JobUnfinished, 3: JobLimit, 130: JobCancelled} {
		if got := (Job{Ending: orchestrator.Ending{Code: code}}).status(); got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
	r := Job{Code: 1, Failed: errors.New("the disk is full"), State: &view.State{}}.Result(unmasked)
	if r.Status != JobFailed || r.Reason != "the disk is full" {
		t.Errorf("%+v", r)
	}
	if junit, err := r.JUnit(); err != nil || !bytes.Contains(junit, []byte(`<failure message="failed: the disk is full" type="failed">`)) {
		t.Errorf("%v: %s", err, junit)
	}
}

// What is masked is masked in all texts.
func TestJobResultIsMasked(t *testing.T) {
	t.Parallel()
	var all []string
	jobOf().Result(func(text string) string {
		all = append(all, text)
		return text
	})
	for _, want := range []string{"ben needs attention", "Ship", "not yet", "ben: lost", "Ship.", "go home"} {
		if !strings.Contains("\n"+strings.Join(all, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%q was not masked", want)
		}
	}
}

// The whole file, so that a change of its form is seen.
func TestJUnit(t *testing.T) {
	t.Parallel()
	got, err := jobOf().Result(unmasked).JUnit()
	if err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="covey: team crew" tests="9" failures="3" skipped="3" time="90.000">
  <testsuite name="run" tests="1" failures="1" errors="0" skipped="0">
    <testcase classname="covey" name="team crew" time="90.000">
      <failure message="unfinished: ben needs attention" type="unfinished"></failure>
    </testcase>
  </testsuite>
  <testsuite name="tasks" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="covey.tasks" name="1 Test"></testcase>
    <testcase classname="covey.tasks" name="2 Ship">
      <failure message="in_progress: not yet" type="in_progress"></failure>
    </testcase>
  </testsuite>
  <testsuite name="gates" tests="6" failures="1" errors="0" skipped="3">
    <testcase classname="covey.gates.TaskCompleted" name="go test on task 1" time="2.000">
      <system-out>refused 1 times before it agreed</system-out>
    </testcase>
    <testcase classname="covey.gates.TaskCompleted" name="lint on task 1" time="0.020"></testcase>
    <testcase classname="covey.gates.TeammateIdle" name="idle on ben" time="0.000">
      <failure message="halted: go home" type="halted"></failure>
    </testcase>
    <testcase classname="covey.gates.Stop" name="ask on ben" time="0.000">
      <skipped message="awaits: the lead"></skipped>
    </testcase>
    <testcase classname="covey.gates.TaskCompleted" name="go test on merge m1" time="0.000">
      <skipped message="cut"></skipped>
    </testcase>
    <testcase classname="covey.gates.TaskCompleted" name="lint on merge m1" time="0.000">
      <skipped message="judging"></skipped>
    </testcase>
  </testsuite>
</testsuites>
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever members write, the file is XML with the same cases, and no text becomes markup.
func TestJUnitOfHostileTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"]]></testsuite><x>", "<!ENTITY x SYSTEM 'file:///etc/passwd'>", "\x00\x1b[31m\ufffe", "\xff\xfe", "a\nb\tc\"'&amp;",
		}))
		j := jobOf()
		j.State.Tasks[0].Subject, j.State.Tasks[1].Returns[0].Reason = text.Draw(t, "subject"), text.Draw(t, "why")
		j.State.Gates[0].Hooks[0].Command, j.Ending.Answer = text.Draw(t, "command"), text.Draw(t, "answer")
		data, err := j.Result(unmasked).JUnit()
		if err != nil {
			t.Fatal(err)
		}
		cases := 0
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			start, ok := token.(xml.StartElement)
			switch {
			case ok && start.Name.Local == "testcase":
				cases++
			case ok && !strings.Contains(" testsuites testsuite failure skipped system-out ", " "+start.Name.Local+" "):
				t.Fatalf("an element %s in\n%s", start.Name.Local, data)
			}
		}
		if cases < 9 || cases > 10 { // a command of its own name is a gate of its own
			t.Fatalf("%d cases in\n%s", cases, data)
		}
	})
}

// schemaOf makes the schema of result.json from its Go type. Other fields are allowed, because a
// version may get some.
func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.For[JobResult](nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "result.json of covey ci"
	open(s)
	s.Properties["status"].Enum = []any{JobDone, JobUnfinished, JobLimit, JobCancelled, JobFailed}
	return s
}

// open allows other fields in objects.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

// The committed schema is that of the type, and results fit it: one of a run, and one of a run
// that could not begin.
func TestJobResultSchema(t *testing.T) {
	s := schemaOf(t)
	want, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	file := filepath.Join("..", "..", "..", "docs", "ci-result.schema.json")
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v); go test ./cmd/covey/view -run Schema -update", file, err)
	}
	fits, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []Job{jobOf(), {Failed: fs.ErrInvalid, State: &view.State{}}} {
		dir := t.TempDir()
		if err := j.Result(unmasked).Save(dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "result.json"))
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		if err := fits.Validate(value); err != nil {
			t.Errorf("%v:\n%s", err, data)
		}
		for _, status := range []any{"fine", nil, 7} {
			value["status"] = status
			if fits.Validate(value) == nil {
				t.Errorf("a result with the status %v fits", status)
			}
		}
	}
	if err := jobOf().Result(unmasked).Save(filepath.Join(t.TempDir(), "none")); err == nil || strings.Count(err.Error(), "none") < 2 {
		t.Errorf("without a folder: %v", err)
	}
}
