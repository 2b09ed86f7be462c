package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// hostileBoard draws the main page of a team whose texts all have a payload.
func hostileBoard(templates *template.Template, payload string) (string, error) {
	var s view.State
	for _, l := range teamtest.BusyDay(16, 1) {
		s.Apply(l.Event())
	}
	s.Apply(teamtest.Line(17, "m0", "needs_attention", `{"reason":"x"}`).Event())
	s.Apply(teamtest.Line(18, "m0", "limited", `{"agent":"x","text":"x","until":"2026-11-25T15:00:00Z","known":true}`).Event())
	s.Apply(teamtest.Line(19, "", "request", `{"id":"r9","kind":"plan","member":"m0","to":"operator","state":"open","text":"Bash"}`).Event())
	texts.MaskAll(&s, func(old string) string {
		if old == "operator" || old == string(requests.Open) {
			return old
		}
		return teamtest.Hostile(old, payload)
	})
	for _, t := range s.Tasks {
		t.Unchanged = true
	}
	for _, m := range s.Merges {
		m.Hints = []hints.Hint{{Mark: true, Word: payload}}
	}
	d := pages.Drawing{State: &s, Trouble: payload, Templates: templates}
	sections, err := d.Sections()
	if err != nil {
		return "", err
	}
	page, err := pages.Execute(d.Templates, "page", shell{Title: payload, Said: payload, Sections: marked0(sections)})
	return string(page), err
}

// marked0 returns sections in their first version.
func marked0(list []*pages.Section) (all []*section) {
	for _, s := range list {
		all = append(all, marked(s, nil, 1))
	}
	return all
}

// hostilePages are the other pages, by their templates, with data whose texts all get a payload.
func hostilePages(payload string) map[string]any {
	task := tasks.Task{ID: "1", Subject: "s", Description: "d", Owner: "o", Author: "a", Status: tasks.Completed, Evidence: []tasks.Evidence{{By: "b", Text: "t", File: "f"}}}
	merge := view.Merge{Merge: tasks.Merge{ID: "1", Member: "o", Into: "main", Reason: "r", State: tasks.MergeHeld, Tasks: []string{"1"}, Commit: "c"}}
	work := pages.Work{Task: task, Files: hints.ParseDiff("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@ f\n-old\n+new\n")}
	one := &taskPage{Task: pages.Task{
		Full: task, Form: "token", Faults: []string{"f"}, Unread: []string{"u"}, Stored: []requests.Verdict{{Command: "c", Log: "l", Moment: "m"}}, Question: &requests.Request{ID: "r1", Kind: "plan", Member: "o", Text: "t"},
		Rounds: []pages.Round{{Gate: &view.Gate{ID: "g", Event: "Stop", Verdict: view.Refused, Reason: "r"}, Runs: []pages.HookRun{{HookRun: view.HookRun{Seq: 1, Command: "c", Outcome: "o", Observed: "b"}, Text: "t"}}}},
		TaskState: pages.TaskState{
			Hints: []hints.Hint{{Word: "w", Text: "t", Places: []hints.Place{{File: "x", Text: "y"}}, Mark: true}},
			Up:    true, Present: true, Author: "o", Merges: []view.Merge{merge}, Blocked: []*tasks.Outline{{ID: "3", Subject: "s"}},
			TaskRow: pages.TaskRow{Word: "w", Class: "good", Merge: &merge, Task: &view.Task{Task: task, Owners: []view.Owned{{Owner: "o", By: "b", End: "e"}},
				Returns: []view.Return{{Kind: "k", Member: "m", By: "b", Reason: "r"}}}},
		},
	}}
	one.Diff = pages.NewDiffView(work, one.Hints, pages.Bounds{File: fileLines, All: pageLines})
	one.Notes = []pages.Note{{ID: 1, File: one.Diff.Files[0].Shown, Line: 1, Text: "t"}}
	one.Prev, one.Next = &pages.Piece{Task: "3", Title: "t"}, &pages.Piece{Task: "4", Title: "t"}
	one.Review.Brings = []api.Brought{{Merge: merge.Merge, Changes: []string{"x"}}}
	who := &memberPage{Form: "token", Up: true, Live: true, Data: pages.MemberRow{
		Name: "ana", Agent: "acp", Word: "idle", Class: "quiet", Task: "1", InProgress: []string{"1"}, Attention: "a", WaitsFor: "w", Doing: "d", Branch: "b",
		Held: &view.Hold{By: "o"}, Lockout: &view.Lockout{Text: "t", Fix: "f", Until: time.Now()},
	}}
	asked := requests.Request{ID: "r1", Kind: "plan", Member: "ana", State: requests.Open, Text: "t", By: "b", Feedback: "f"}
	question := &questionPage{AnswerForm: pages.NewAnswerForm("token", asked), More: "m", Fault: "f"}
	question.Plan = "p"
	form := asked
	form.Kind, form.Payload = requests.AskForm, json.RawMessage(`{"schema":{"properties":{"town":{"type":"string","title":"t","description":"d","default":"x"},"speed":{"type":"string","enum":["a","b"]},"gift":{"type":"boolean"}}}}`)
	filled := &questionPage{AnswerForm: pages.NewAnswerForm("token", form)}
	filled.Fields[0].Fault = "f"
	link := &linkPage{Team: "crew", Request: asked, More: "m", Refused: "r"}
	for _, data := range []any{one, &one.TaskState, who, question, filled, link} {
		texts.MaskAll(data, func(old string) string { return teamtest.Hostile(old, payload) })
	}
	for _, l := range []events.Line{says("ana", payload), says(payload, payload), teamtest.Line(3, "ana", "tool_call", "{}")} {
		if l.Type == "tool_call" {
			l.Data, _ = json.Marshal(map[string]any{"id": "c1", "name": payload, "input": map[string]string{"command": payload}}) // strings can be encoded
		}
		if line, ok := lineOf(l.Event()); ok {
			who.Log.Lines, one.Talk.Lines = append(who.Log.Lines, line), append(one.Talk.Lines, line)
		}
	}
	who.Log.Older, one.Talk.Older = "?before=7", "" // covey makes them
	m := memberLive{pen: newReader()}
	m.pen.set(members.Drafting{Drafts: []members.Draft{{Member: payload, Helper: payload, Text: payload, Cut: true}}})
	who.Drafts = m.lines()
	return map[string]any{"taskpage": one, "memberpage": who, "requestpage": question, "fields": filled.AnswerForm, "answerlink": link}
}

// Whatever is in any text of a team, no page has more than its own elements, attributes and links, and
// everything in it is as plain as it looks.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	templates := newTemplates("")
	ours := strings.NewReplacer( // what the pages themselves load
		`<script src="/static/htmx.min.js"></script>`, "", `<script src="/static/hx-sse.min.js"></script>`, "", `<script src="/static/page.js"></script>`, "",
		`<link rel="icon" href="/static/icon.svg" type="image/svg+xml">`, "", `<link rel="stylesheet" href="/static/style.css">`, "",
		"<dialog", "<div", "</dialog>", "</div>", "<kbd>", "<b>", "</kbd>", "</b>",
	)
	for _, payload := range teamtest.Payloads() {
		page, err := hostileBoard(templates, payload)
		if err != nil {
			t.Fatalf("%q: %v", payload, err)
		}
		teamtest.CheckHTML(t, "board: "+payload, ours.Replace(page))
		for name, data := range hostilePages(payload) {
			page, err := pages.Execute(templates, name, data)
			if err != nil {
				t.Fatalf("%s, %q: %v", name, payload, err)
			}
			teamtest.CheckHTML(t, name+": "+payload, ours.Replace(string(page)))
		}
	}
}

// A line of ten megabytes leaves the pages small.
func TestLongPayload(t *testing.T) {
	t.Parallel()
	var s view.State
	long := teamtest.LongPayload()
	data, _ := json.Marshal(map[string]string{"text": long}) // strings can be encoded
	for i, kind := range []string{"turn_started", "text"} {
		s.Apply(teamtest.Line(i+1, "ana", kind, string(data)).Event())
	}
	d := pages.Drawing{State: &s, Templates: newTemplates("")}
	sections, err := d.Sections()
	if err != nil {
		t.Fatal(err)
	}
	page := fmt.Sprint(sections[3].Rows)
	line, _ := lineOf(teamtest.Line(9, "ana", "text", string(data)).Event())
	html, err := pages.Execute(d.Templates, "logline", line)
	for name, text := range map[string]template.HTML{"board": template.HTML(page), "log": html} {
		if teamtest.CheckPlain(t, name, string(text)); err != nil || len(text) > 4*maxText || len(text) < 100 {
			t.Errorf("the %s has %d bytes, %v", name, len(text), err)
		}
	}
}
