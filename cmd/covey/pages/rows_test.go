package pages

import (
	"fmt"
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
)

// TestRows: a drawing after another one is the same as one that begins anew, whatever has changed
// in between, and rows whose data are the same are not drawn again.
func TestRows(t *testing.T) {
	t.Parallel()
	lines := teamtest.BusyDay(80, 3)
	var s view.State
	templates := Templates("")
	var before Rows
	text := func(d *Drawing) string {
		all, err := d.Sections()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, one := range all {
			fmt.Fprint(&b, *one)
		}
		return b.String()
	}
	var now *api.Status
	for i, l := range lines {
		s.Apply(l.Event())
		now = nil
		if i%7 > 2 {
			now = &api.Status{Attached: i}
		}
		after := Drawing{State: &s, Now: now, Templates: templates, Before: before}
		fresh := Drawing{State: &s, Now: now, Templates: templates}
		if got, want := text(&after), text(&fresh); got != want {
			t.Fatalf("after line %d (%s %s) it is\n%s\nand not\n%s", i, l.Type, l.Data, got, want)
		}
		before = after.Rows()
	}
	for id, one := range before { // a mark shows that a row was kept
		one.html = "kept"
		before[id] = one
	}
	s.Members[1].Doing = "Bash news"
	after := Drawing{State: &s, Now: now, Templates: templates, Before: before}
	if got := text(&after); strings.Count(got, "kept") != len(before)-1 || !strings.Contains(got, "Bash news") {
		t.Errorf("%d of %d rows were kept", strings.Count(got, "kept"), len(before))
	}
}

// TestFacts: the page says what a working copy has of its own, when the budget ends at this pace, what
// notices cost, and what the gates of a task in the graph have said.
func TestFacts(t *testing.T) {
	t.Parallel()
	var s view.State
	for _, l := range teamtest.BusyDay(40, 3) {
		s.Apply(l.Event())
	}
	s.Time = s.Run().Started.Add(time.Hour)
	s.Coordination = events.Coordination{Tokens: 200, Of: 1000, Notices: 3, Turns: 2}
	s.Runs[len(s.Runs)-1].Turns.Completed = 4
	s.Tasks[1].BlockedBy = []string{s.Tasks[0].ID}
	s.Gates = append(s.Gates, &view.Gate{ID: "g-last", Task: s.Tasks[0].ID, Verdict: view.Refused})
	now := &api.Status{
		Budget:  []events.BudgetUse{{What: events.Time, Used: 3600, Limit: 7200}},
		Members: []api.MemberStatus{{Name: s.Members[1].Name, Worktree: &workcopies.Status{Branch: "b-own", Ahead: 2, Added: 12, Removed: 3}}},
	}
	list, err := (&Drawing{State: &s, Now: now, Templates: Templates("")}).Sections()
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, one := range list {
		text += fmt.Sprint(*one)
	}
	for _, want := range []string{
		"b-own · &#43;12 −3 lines · 2 commits not merged", "used up at " + s.Time.Add(time.Hour).Local().Format("15:04:00"),
		"3 notices to the lead, 2 turns for notices alone (0.5 a finished task); about 200 of its 1000 tokens, 50 a finished task",
		`<tspan class="refused">✗</tspan></text>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestHash: values that a template shows differently have different numbers.
func TestHash(t *testing.T) {
	t.Parallel()
	type inner struct{ A, B string }
	type outer struct {
		inner
		P *inner
		M map[string]any
		L []string
		T time.Time
		N int
		F float64
		u int
	}
	now := time.Now()
	base := func() outer {
		return outer{inner{"a", "b"}, &inner{"c", "d"}, map[string]any{"k": 1, "l": "x"}, []string{"e", "f"}, now, 1, 1, 1}
	}
	sum := func(v any) uint64 {
		d := Drawing{Templates: template.Must(template.New("any").Parse(""))}
		if d.drawn("id", "any", v); d.err != nil {
			t.Fatal(d.err)
		}
		return d.Rows()["id"].sum
	}
	want := sum(base())
	for name, change := range map[string]func(*outer){
		"nothing": func(*outer) {}, "what is not exported": func(o *outer) { o.u = 2 },
	} {
		if o := base(); true {
			if change(&o); sum(o) != want {
				t.Errorf("%s changes the number", name)
			}
		}
	}
	for name, change := range map[string]func(*outer){
		"an embedded field": func(o *outer) { o.A = "x" }, "a border": func(o *outer) { o.A, o.B = "ab", "" },
		"a pointer": func(o *outer) { o.P = nil }, "behind a pointer": func(o *outer) { o.P.B = "x" },
		"a map": func(o *outer) { o.M["k"] = 2 }, "a key": func(o *outer) { o.M["m"] = nil }, "a list": func(o *outer) { o.L = o.L[:1] },
		"an element": func(o *outer) { o.L[0] = "" }, "a time": func(o *outer) { o.T = now.Add(1) }, "a number": func(o *outer) { o.N = 2 },
		"a fraction": func(o *outer) { o.F = 1.5 },
	} {
		if o := base(); true {
			if change(&o); sum(o) == want {
				t.Errorf("%s does not change the number", name)
			}
		}
	}
}

// TestTasksThatAreOver: of many tasks that are done the newest are shown, and every other task; the
// rest is counted.
func TestTasksThatAreOver(t *testing.T) {
	t.Parallel()
	var s view.State
	for _, l := range teamtest.BusyDay(15*(shownTasks+7)+1, 5) {
		s.Apply(l.Event())
	}
	open := s.Tasks[2]
	open.Status = tasks.InProgress
	d := Drawing{State: &s, Templates: Templates("")}
	all, err := d.Sections()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.ID != "tasks" {
			continue
		}
		first, last := one.Rows[0].ID, one.Rows[len(one.Rows)-1].ID
		if len(one.Rows) != shownTasks+1 || first != "task-"+open.ID || last != "task-"+s.Tasks[len(s.Tasks)-1].ID ||
			!strings.Contains(string(one.Head), ">6 that are done") {
			t.Errorf("%d rows from %s to %s, %s", len(one.Rows), first, last, one.Head)
		}
	}
}

// TestNodeOfMember: the page shows on which node a member works.
func TestNodeOfMember(t *testing.T) {
	t.Parallel()
	var s view.State
	for i, l := range []events.Line{
		teamtest.Line(0, "", "team_started", `{"members":["lead","dev"]}`),
		teamtest.Line(1, "dev", "member_placed", `{"node":"big"}`),
		teamtest.Line(2, "dev", "member_started", `{"agent":"codex"}`),
		teamtest.Line(3, "lead", "member_started", `{"agent":"codex"}`),
	} {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	for name, want := range map[string]string{"dev": "codex on big", "lead": "codex"} {
		if got := RowOf(&s, s.Member(name), s.Graph()).Agent; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
