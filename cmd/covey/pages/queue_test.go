package pages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// queued returns the State of a team with pieces of work: task n is that of merge n.
func queued(t *testing.T, lines ...string) *view.State {
	t.Helper()
	s := &view.State{}
	all := []events.Line{teamtest.Line(0, "", "team_started", `{"goal":"Ship","members":["lead","ana"]}`)}
	for n := 1; n <= 4; n++ {
		all = append(all,
			teamtest.Line(0, "ana", "task", fmt.Sprintf(`{"op":"completed","task":{"id":"%d","subject":"Do %[1]d","status":"completed","owner":"ana"}}`, n)),
			teamtest.Line(0, "ana", "merge", step(n, "waiting")), teamtest.Line(0, "ana", "work_hints", fmt.Sprintf(`{"merge":"%d","size":{"files":1,"added":2}}`, n)))
	}
	for _, l := range lines {
		kind, data, _ := strings.Cut(l, " ")
		all = append(all, teamtest.Line(0, "ana", kind, data))
	}
	for i, l := range all {
		l.Seq = uint64(i + 1)
		s.Apply(l.Event())
	}
	return s
}

// step returns the data of a line about merge n.
func step(n int, state string) string {
	return fmt.Sprintf(`{"id":"%d","member":"ana","tasks":["%[1]d"],"title":"Do %[1]d","from":"before %[1]d","commit":"c","state":"%s","created":"2026-11-25T12:00:0%[1]dZ","updated":"2026-11-25T13:00:00Z"}`, n, state)
}

// Pieces with marks of their own come first; else the order is that of tasks, whatever becomes of other pieces. What is
// decided is in parentheses. Only what was looked at, and has no marks, can be merged with others.
func TestQueue(t *testing.T) {
	t.Parallel()
	marks := `work_hints {"merge":"3","hints":[{"kind":"x","mark":true,"word":"tests removed"}],"size":{"files":1}}`
	notes := `work_hints {"merge":"2","hints":[{"kind":"x","word":"a note"}],"size":{"files":1}}`
	upon := `work_hints {"merge":"4","brings":["3"],"size":{"files":1}}`
	brings := `work_hints {"merge":"4","hints":[{"kind":"brings","mark":true,"word":"brings other work"}],"size":{"files":1}}`
	unread := `merge {"id":"4","member":"ana","tasks":["4"],"commit":"other","state":"waiting"}`
	asks := `request {"id":"r1","kind":"approval","member":"ana","to":"operator","payload":{"task_id":"5"},"state":"open"}`
	five := `task {"op":"claimed","task":{"id":"5","subject":"Do 5","status":"in_progress","owner":"ana"}}`
	for name, tc := range map[string]struct {
		lines []string
		want  string
	}{
		"waiting":           {nil, "1+ 2+ 3+ 4+"},
		"a mark":            {[]string{marks}, "3 1+ 2+ 4+"},
		"a mark, sent back": {[]string{marks, "merge " + step(3, "returned")}, "(3) 1+ 2+ 4+"},
		"builds on it":      {[]string{marks, upon, "merge " + step(3, "returned")}, "(3) 1+ 2+ 4"},
		"brings marked":     {[]string{brings}, "1+ 2+ 3+ 4"},
		"a note":            {[]string{notes}, "1+ 2+ 3+ 4+"},
		"not looked at":     {[]string{unread}, "1+ 2+ 3+ 4"},
		"merged in between": {[]string{"merge " + step(2, "queued"), "merge " + step(2, "merged")}, "1+ (2) 3+ 4+"},
		"all decided": {[]string{
			"merge " + step(1, "merged"), "merge " + step(2, "dropped"), "merge " + step(3, "merged"), "merge " + step(4, "returned"),
		}, "(1) (2) (3) (4)"},
		"an approval": {[]string{five, asks}, "1+ 2+ 3+ 4+ 5"},
		"newer work":  {[]string{`merge {"id":"9","member":"ana","tasks":["2"],"state":"held"}`}, "1+ 2 3+ 4+"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := queued(t, tc.lines...)
			var got []string
			for _, p := range Queue(s, s.Works()) {
				word := p.Key + strings.Repeat("+", map[bool]int{true: 1}[p.Clean()])
				if p.Over {
					word = "(" + word + ")"
				}
				got = append(got, word)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A page that is open has the rows of the queue where they were, and only the row that changed is drawn anew. One that is
// opened has in a fold what is decided.
func TestQueueKeepsPlaces(t *testing.T) {
	t.Parallel()
	places := map[string]bool{}
	rows := func(s *view.State, places map[string]bool) (ids []string) {
		d := Drawing{State: s, Templates: Templates(""), Places: places}
		list, err := d.Sections()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list[slices.IndexFunc(list, func(s *Section) bool { return s.ID == "review" })].Shown() {
			ids = append(ids, r.ID)
		}
		return ids
	}
	before := rows(queued(t), places)
	for _, state := range []string{"queued", "testing", "held", "returned", "merged", "dropped"} {
		s := queued(t, "merge "+step(2, state))
		if after := rows(s, places); !slices.Equal(before, after) {
			t.Errorf("%s: %q after %q", state, after, before)
		}
		decided := map[string]bool{"returned": true, "merged": true, "dropped": true}
		if fresh := rows(s, map[string]bool{}); slices.Contains(fresh, "piece-2") == decided[state] {
			t.Errorf("%s: a page that is opened shows %q", state, fresh)
		}
	}
}

// TestQueueWithoutTeam: work of a team that does not run is decided about as that of one which does.
func TestQueueWithoutTeam(t *testing.T) {
	t.Parallel()
	s := queued(t)
	drawn := func(now *api.Status) string {
		list, err := (&Drawing{State: s, Form: "token", Now: now, Templates: Templates("/p")}).Sections()
		i := slices.IndexFunc(list, func(one *Section) bool { return one.ID == "review" })
		if err != nil || i < 0 {
			t.Fatal(list, err)
		}
		return string(list[i].Head) + fmt.Sprint(list[i].Rows)
	}
	for _, now := range []*api.Status{{}, nil} {
		got := drawn(now)
		for _, want := range []string{"Merge the 4 without marks", "Send back…", "checkbox", `data-key="m"`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in %s", want, got)
			}
		}
		if waits := strings.Contains(got, "waits for <code>covey up</code>"); waits != (now == nil) {
			t.Error(got)
		}
	}
}

// A member in trouble has one line until it is opened, with buttons named after what they do; tasks that are done are folded when they are many.
func TestShortMainPage(t *testing.T) {
	t.Parallel()
	trouble := `request {"id":"r1","kind":"attention","member":"ana","to":"operator","text":"ana needs attention: 8 refusals\n(approve: it goes on; deny: it stays)","state":"open"}`
	var lines []string
	for n := 5; n <= 8; n++ {
		lines = append(lines, fmt.Sprintf(`task {"op":"completed","task":{"id":"%d","subject":"Do","status":"completed","owner":"ana"}}`, n))
	}
	for name, tc := range map[string]struct {
		lines []string
		fold  string
		open  int
	}{
		"few":  {[]string{trouble}, "", 0},
		"many": {append(lines, trouble, `task {"op":"created","task":{"id":"9","subject":"Do","status":"pending","owner":"ana"}}`), "8 tasks done", 1},
	} {
		sections, err := (&Drawing{State: queued(t, tc.lines...), Form: "token", Now: &api.Status{}, Templates: Templates("/p")}).Sections()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sections {
			switch s.ID {
			case "tasks":
				if s.Fold != tc.fold || s.Open != tc.open || s.Rows[0].ID != map[bool]string{true: "task-1", false: "task-9"}[tc.fold == ""] {
					t.Errorf("%s: %q, %d of %v", name, s.Fold, s.Open, s.Rows[0].ID)
				}
			case "needs":
				row := string(s.Rows[0].HTML)
				for _, want := range []string{`<details class="trouble"><summary><b class="wait">attention</b>`, "8 refusals</p>", "Let it go on</button>", "Leave it as it is</button>"} {
					if !strings.Contains(row, want) || strings.Contains(row, "approve: it") {
						t.Errorf("no %s in %s", want, row)
					}
				}
			}
		}
	}
}

// TestServersOnPage: a page says how the servers are that keep the data of a running team, by what the
// process says that runs it, or else by the journal.
func TestServersOnPage(t *testing.T) {
	const bus = `bus {"host":"a.test","since":"2026-11-25T12:00:00Z","epoch":3}`
	now := events.Bus{Host: "a.test", Epoch: 3, Quorum: true}
	for want, d := range map[string]*Drawing{
		"epoch 3 · no standby · no quorum: no turns begin": {State: queued(t, bus)},
		"epoch 3 · no standby · quorum":                    {State: queued(t, bus), Now: &api.Status{Bus: &now}},
	} {
		if b := d.headline().Bus; b == nil || !strings.HasSuffix(b.String(), want) {
			t.Errorf("the page says %v, want %s", b, want)
		}
	}
	for _, d := range []*Drawing{{State: queued(t)}, {State: queued(t, bus, `team_ended {"reason":"done"}`)}} {
		if b := d.headline().Bus; b != nil {
			t.Errorf("the page says %v", b)
		}
	}
}
