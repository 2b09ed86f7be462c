package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// reportOf returns the report of a team that has written these lines.
func reportOf(lines []events.Line) *report {
	s := &view.State{}
	for _, l := range lines {
		s.Apply(l.Event())
	}
	r := &report{State: s, Made: s.Time, Version: "1", Diffs: map[string]diffText{}, Outputs: map[uint64]string{}}
	for _, m := range s.Merges {
		r.Diffs[m.ID] = diffText{Diff: merging.Diff{Text: "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"}}
	}
	for _, g := range s.Gates {
		for _, h := range g.Hooks {
			r.Outputs[h.Seq] = "--- FAIL: TestX\n"
		}
	}
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	text, err := reportOf(teamtest.BusyDay(200, 2)).HTML()
	if err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(string(text))
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(page, want) {
		t.Errorf("the policy does not have %s", want)
	}
	for _, want := range []string{
		"default-src 'none'", "Ship it", `href="#work-1"`, `id="work-1"`, "m1", "seen", "Changes", `<tr class="removed"><td>2</td><td></td><td>old</td>`,
		"--- FAIL: TestX", "Questions that were answered", `class="edge`, "go test ./...", "1 refused",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the report has no %s", want)
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("a link leads to #%s, which is not there", link[1])
		}
	}
}

// TestReportIsThePage: each section and row of the page is in the report, and so are the parts of the page of
// a task, with what to look at first.
func TestReportIsThePage(t *testing.T) {
	t.Parallel()
	r := reportOf(teamtest.BusyDay(200, 2))
	r.team = &configs.Team{}
	for _, m := range r.State.Merges {
		m.Hints = []hints.Hint{{Kind: "tests-removed", Mark: true, Word: "tests removed", Places: []hints.Place{{File: "x_test.go"}}}}
	}
	for id := range r.Diffs {
		r.Diffs[id] = diffText{Diff: merging.Diff{Text: "diff --git a/x_test.go b/x_test.go\ndeleted file mode 100644\n--- a/x_test.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}}
	}
	text, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := (&Drawing{State: r.State, Stopped: true, Templates: Templates("")}).Sections()
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, s := range sections {
		if s.ID == "team" { // the story has it
			continue
		}
		ids = append(ids, s.ID)
		for _, row := range s.Rows {
			ids = append(ids, row.ID)
		}
	}
	for _, id := range ids {
		if !bytes.Contains(text, []byte(`id="`+id+`"`)) {
			t.Errorf("%s is on the page, and not in the report", id)
		}
	}
	for _, want := range []string{"Look at this first", "tests removed", `<h2 aria-level="3">Verdicts</h2>`, "owners and claims"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the report has no %q", want)
		}
	}
	for _, never := range []string{"<form", "hx-", "<script", `id="task-look"`} {
		if bytes.Contains(text, []byte(never)) {
			t.Errorf("the report has %q", never)
		}
	}
}

// TestMarkdownGroupsRefusals: what was refused again for the same reason is one line, however long the
// tests took; another reason, task or merge is another one. The budget is there with what is used of it.
func TestMarkdownGroupsRefusals(t *testing.T) {
	t.Parallel()
	gate := func(task, merge string, turn int, reason string) *view.Gate {
		return &view.Gate{Event: "TaskCompleted", Task: task, Merge: merge, Member: "ana", Turn: turn, Verdict: view.Refused, Reason: reason}
	}
	r := &report{State: &view.State{Budget: []events.BudgetUse{{What: "tokens", Used: 25, Limit: 20}}}}
	r.State.Gates = []*view.Gate{
		gate("1", "", 1, "FAIL 0.003s"), gate("1", "", 1, "want 4"), gate("1", "", 1, "FAIL 1.2s"), gate("1", "", 3, "FAIL 12ms"),
		gate("2", "", 1, "want 4"), gate("", "m1", 0, "want 4"), gate("", "m1", 0, "want 4"), gate("3", "", 2, "x"), gate("3", "", 2, "x"),
	}
	r.State.Gates[6].At, r.State.Gates[6].By = view.AtMerge, []string{"./gate"}
	for i, g := range r.State.Gates {
		g.First = uint64(i + 1)
	}
	_, got, _ := strings.Cut(r.Markdown(), "**Refused**\n")
	want := "- **refused** task 3 of ana, 2 times in turn 2: x\n- **refused** a merge of ana, by ./gate, 2 times: want 4\n" +
		"- **refused** task 2 of ana: want 4\n- **refused** task 1 of ana, 3 times in 2 turns from 1 to 3: FAIL 12ms\n" +
		"- **refused** task 1 of ana: want 4\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if md := r.Markdown(); !strings.Contains(md, " · budget: 25 of 20 tokens (125 %)\n") {
		t.Errorf("no budget in\n%s", md)
	}
}

// TestStory: the report begins with what was asked, what is open, refused, decided and merged, and what each
// member did, the same in HTML and in Markdown, which has at most 60 lines. Work that was sent back is
// among what was refused.
func TestStory(t *testing.T) {
	t.Parallel()
	s := &view.State{}
	for i, l := range []string{
		`- team_started {"goal":"Ease it","members":["lead","ana"]}`,
		`ana member_started {"agent":"builtin/script"}`,
		`- task {"op":"created","task":{"id":"1","subject":"Ease","status":"pending","owner":"ana"}}`,
		`- task {"op":"created","task":{"id":"2","subject":"Other","status":"pending","owner":"ana"}}`,
		`- task {"op":"completed","task":{"id":"1","subject":"Ease","status":"completed","owner":"ana"}}`,
		`- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"title":"Ease","into":"main","state":"waiting"}`,
		`- merge {"id":"1","member":"ana","branch":"b","tasks":["1"],"title":"Ease","into":"main","state":"returned","refused":true,"reason":"a person sent it back: no test"}`,
		`- task {"op":"created","task":{"id":"3","subject":"Revise","status":"pending","owner":"ana"}}`,
		`- task {"op":"completed","task":{"id":"3","subject":"Revise","status":"completed","owner":"ana"}}`,
		`- merge {"id":"2","member":"ana","branch":"c","tasks":["3"],"title":"Revise","into":"main","state":"merged","result":"0123456789ab","by":"operator"}`,
		`ana request {"id":"r1","kind":"permission","member":"ana","to":"operator","text":"ana asks to use Bash","state":"open"}`,
		`- request {"id":"r1","kind":"permission","member":"ana","to":"operator","text":"ana asks to use Bash","state":"denied","by":"operator","feedback":"never"}`,
		`ana request {"id":"r2","kind":"plan","member":"ana","to":"operator","text":"a plan","state":"open"}`,
		`- work_hints {"merge":"2","commit":"","hints":[{"kind":"x","mark":true,"word":"tests removed","text":"Gone.","places":[{"file":"a_test.go","line":3}]},{"kind":"y","word":"file deleted","text":"A file is gone."}]}`,
		`- work_hints {"merge":"1","commit":"","hints":[{"kind":"x","mark":true,"word":"tests removed","text":"Gone.","places":[{"file":"a_test.go","line":3}]}]}`,
	} {
		at, rest, _ := strings.Cut(l, " ")
		kind, data, _ := strings.Cut(rest, " ")
		s.Apply(teamtest.Line(i+1, strings.Trim(at, "-"), kind, data).Event())
	}
	r := &report{State: s, Diffs: map[string]diffText{}, Outputs: map[uint64]string{}}
	for i, p := range []events.PermissionDecided{
		{Tool: "Bash", Call: "git push origin", Decision: "deny", By: "rule", Rule: "Bash(git push*)"},
		{Tool: "Bash", Call: "git push origin", Decision: "deny", By: "rule", Rule: "Bash(git push*)"},
		{Tool: "Write", Decision: "deny", By: "nobody"}, {Tool: "Read", Decision: "allow", By: "rule"}, {Tool: "Edit", Decision: "deny", By: "mode", Mode: "plan"},
	} {
		r.deny(events.Event{Seq: uint64(100 + i), Member: "ana", Data: p})
	}
	md := r.Markdown()
	want := []string{
		"done 2 of 3", "merged 1 of 2", "1 sent back", "0 refused", "Asked: Ease it",
		"**Open**\n- **plan** ana: covey inbox show r2: a plan\n- **not done** 1 task: 2\n",
		"**Hints in what is decided**\n- **task 1, 3** ⚠ tests removed: Gone. (a\\_test.go:3)\n", "- **task 3** file deleted: A file is gone.\n",
		"- **denied** Bash: git push origin of ana, by the rule Bash(git push\\*), 2 times\n", "- **denied** Write of ana, by nobody who could be asked\n",
		"- **sent back** task 1 of ana, by a person: no test\n",
		"**People decided**\n- **merged** task 3 (Revise)\n- **sent back** the work on task 1\n- **denied** ana: ana asks to use Bash (never)\n",
		"**Merged**\n- **merged** 1 piece of work into main (0123456789): task 3 (Revise)\n",
		"- ana: builtin/script · 2 tasks done: 1 (Ease), 3 (Revise) · 1 sent back",
		"| 2 Other | ready | ana | 0 | 0 | $0.00 |", "| 1 Ease | sent back ⚠ tests removed | ana | 0 | 1 | $0.00 |",
	}
	for _, w := range want {
		if !strings.Contains(md, w) {
			t.Errorf("no %q in\n%s", w, md)
		}
	}
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(page), `id="story"`)
	first, _, _ = strings.Cut(first, "</section>")
	for _, w := range []string{"Ease it", "1 sent back", `<a href="#work-1"><b class="bad">sent back</b></a> task 1 of ana, by a person`, "ana asks to use Bash", "Revise"} {
		if !strings.Contains(first, w) {
			t.Errorf("no %q in\n%s", w, first)
		}
	}
}

// Whatever is in any text of a team, the page has only its own elements, links within itself and
// no handlers, and the Markdown names nobody.
func TestHostileReport(t *testing.T) {
	t.Parallel()
	lines := teamtest.BusyDay(16, 1)
	for _, payload := range teamtest.Payloads() {
		r := reportOf(lines)
		texts.MaskAll(r, func(old string) string {
			return teamtest.Hostile(old, payload)
		})
		page, err := r.HTML()
		if err != nil {
			t.Fatalf("%q: %v", payload, err)
		}
		teamtest.CheckHTML(t, payload, string(page))
		md := r.Markdown()
		plain := markdownCode.ReplaceAllString(md, "")
		for _, bad := range []string{"@octocat", "@org", " #1", "repo#1", "GH-1", "https://", "www.e", "<s", "<i", "<a", "\x1b", "\u202e", " [a]("} {
			if strings.Contains(plain, bad) {
				t.Errorf("%q: the Markdown has %q in\n%s", payload, bad, plain)
			}
		}
	}
}

// markdownCode matches code within a line, with a fence of up to four backticks.
var markdownCode = regexp.MustCompile("````.*?[^`]````|```[^`].*?[^`]```|``[^`].*?[^`]``|`[^`]+`")

// A report has a bound even if all that it shows is as large as it can be. It says what is left
// out.
func TestLargeReport(t *testing.T) {
	t.Parallel()
	r := reportOf(teamtest.BusyDay(5_000, 100))
	for id := range r.Diffs {
		r.Diffs[id] = diffText{Diff: merging.Diff{Text: "diff --git a/x b/x\n@@ -1 +1 @@\n" + strings.Repeat("+\"'<>&\n", maxDiff/8)}}
	}
	page, err := r.HTML()
	if err != nil || len(page) > maxReport {
		t.Fatalf("%d bytes, %v", len(page), err)
	}
	for _, want := range []string{"older tasks without room here", "There are more changes than have room here: <code>covey diff"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("it does not say %q", want)
		}
	}
	if md := r.Markdown(); strings.Count(md, "\n") > maxMarkdown || len(md) > 60_000 || !strings.Contains(md, "more: `covey tasks`") {
		t.Errorf("%d lines, %d bytes of Markdown", strings.Count(md, "\n"), len(md))
	}
	texts.MaskAll(r.State, func(old string) string { return old + strings.Repeat(`"`, 60) })
	if page, err = r.HTML(); err != nil || len(page) > maxReport {
		t.Errorf("of hostile texts: %d bytes, %v", len(page), err)
	}
}

// BenchmarkReport makes the report of a day: 100,000 lines.
func BenchmarkReport(b *testing.B) {
	r := reportOf(teamtest.BusyDay(100_000, 200))
	for b.Loop() {
		page, err := r.HTML()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(page)), "bytes")
	}
}

func TestMaskAll(t *testing.T) {
	t.Parallel()
	r := reportOf(teamtest.BusyDay(100, 2))
	r.State.Tasks[0].Subject, r.State.Gates[0].Hooks[0].Command = "the-secret is here", "echo the-secret"
	r.State.Tasks[0].Metadata = map[string]json.RawMessage{"a": json.RawMessage(`"the-secret"`), "b": json.RawMessage(`{"c":["x the-secret"]}`)}
	r.Diffs["1"], r.Outputs[7] = diffText{Diff: merging.Diff{Text: "+the-secret"}}, "the-secret"
	r.mask([]string{"the-secret"})
	text, err := json.Marshal(r)
	if err != nil || bytes.Contains(text, []byte("the-secret")) || bytes.Count(text, []byte(`***`)) < 6 {
		t.Errorf("%v, %s", err, text)
	}
}

// What says nothing is one clear line.
func TestNothingToReport(t *testing.T) {
	place := teamtest.Place(t, "crew")
	r := &report{Made: time.Now()}
	if _, err := r.fold(place); err == nil || !strings.Contains(err.Error(), "has never run") {
		t.Errorf("never run: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(place.Journal()), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"": "has written nothing yet", "no journal\n": "no line of the journal can be read"} {
		if err := os.WriteFile(place.Journal(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.fold(place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	merge := reportOf([]events.Line{teamtest.Line(1, "", "team_started", `{"merge":"task 1"}`), teamtest.Line(2, "", "team_ended", `{"reason":"merged task 1"}`)})
	merge.describe()
	if !slices.Contains(merge.Notes, "No member has run: covey merge has merged task 1.") {
		t.Errorf("%q", merge.Notes)
	}
	if _, err := merge.HTML(); err != nil {
		t.Error(err)
	}
}
