package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/view"
)

// maxReport is how large the HTML of a report may be, in bytes.
const maxReport = 5_000_000

// limits say how much of a team is shown. What is left out is said, and where it is.
type limits struct {
	Rows, Turns, Merges, Tasks int // of each list, turn ends, merges and tasks that are over
	Answers, Marks, Works      int // answered questions, turns and refusals on the timeline, tasks with their history
	Diff, Diffs, Outputs       int // bytes of the differences of one task, of all, of what gates have printed
}

// fullLimits are those of nearly all reports.
func fullLimits() limits {
	return limits{
		Rows: 2000, Turns: 200, Merges: 2000, Tasks: 2000, Answers: 100, Marks: 1000, Works: 300,
		Diff: 96 << 10, Diffs: 2 << 20, Outputs: 1 << 20,
	}
}

// halved are limits for a report that is too large.
func (l limits) halved() limits {
	for _, n := range []*int{
		&l.Rows, &l.Turns, &l.Merges, &l.Tasks, &l.Answers, &l.Marks, &l.Works, &l.Diff, &l.Diffs, &l.Outputs,
	} {
		*n /= 2
	}
	return l
}

// HTML returns the report as a page that asks no network and runs nothing.
func (r *report) HTML() ([]byte, error) {
	tmpl := Templates("").Funcs(reportFunctions(r.State))
	for l := fullLimits(); ; l = l.halved() {
		html, err := r.render(tmpl, l)
		if err != nil {
			return nil, err
		}
		if len(html) <= maxReport {
			return html, nil
		}
		if l.Rows == 0 {
			return nil, errors.New("it is larger than 5 MB even without tasks; covey report --json has the state")
		}
	}
}

// reportFunctions are what templates call in a report in another way than in the page: links lead
// to places in the report, times say their day if the report has several, and the parts of a task, which
// are there for each task, have no ids.
func reportFunctions(s *view.State) template.FuncMap {
	layout := "15:04:05"
	if first := beginning(s); s.Time.Sub(first) > 20*time.Hour {
		layout = "Jan 2 15:04:05"
	}
	return template.FuncMap{
		"clock":      func(t time.Time) string { return t.Local().Format(layout) },
		"taskhref":   func(id string) string { return "#work-" + DomID(id) },
		"lookhref":   func(id string) string { return "#work-" + DomID(id) },
		"memberhref": func(name string) string { return "#member-" + DomID(name) },
		"linehref":   func(name string, _ uint64) string { return "#member-" + DomID(name) },
		"gatehref":   func(id string, _ string) string { return "#work-" + DomID(id) },
		"live":       func() bool { return false },
		"part":       func(string) template.HTMLAttr { return "" },
		"heading":    func(string) template.HTMLAttr { return `aria-level="3"` },
	}
}

// beginning returns when the first run began that is known.
func beginning(s *view.State) time.Time {
	if len(s.Runs) == 0 {
		return s.Time
	}
	return s.Runs[0].Started
}

// reportPage is what the template of a report shows.
type reportPage struct {
	*report
	Style    template.CSS
	Policy   string
	From     time.Time
	Zone     string
	Story    story
	Sections []*Section
	Works    []Task
	Fewer    int // tasks that are only in the list
}

// render makes the page.
func (r *report) render(tmpl *template.Template, l limits) ([]byte, error) {
	all := style + reportStyle
	sum := sha256.Sum256([]byte(all))
	zone, _ := r.Made.Local().Zone()
	p := reportPage{
		report: r, Story: r.story(), From: beginning(r.State), Zone: zone,
		Style: template.CSS(all), //nolint:gosec // it is our own file
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'",
	}
	p.Works, p.Fewer = r.tasks(l)
	d := Drawing{State: r.State, Now: r.Now, Stopped: r.Now == nil, Templates: tmpl, most: &l}
	var err error
	if p.Sections, err = d.Sections(); err != nil {
		return nil, err
	}
	p.Sections = slices.DeleteFunc(p.Sections, func(s *Section) bool { return s.ID == "team" }) // the story begins with it
	var out bytes.Buffer
	if err = tmpl.ExecuteTemplate(&out, "report", p); err != nil {
		return nil, fmt.Errorf("fill in its template: %w", err)
	}
	return out.Bytes(), nil
}

// timeline is the time of all members.
type timeline struct {
	From, Middle, To time.Time
	Lanes            []lane
}

// timelineOf draws the newest turns over the time of the team, up to the last step of a turn: it is the
// same until the next one.
func timelineOf(s *view.State, most int) timeline {
	from, to := beginning(s), beginning(s)
	for _, t := range s.Turns {
		to = latest(to, t.Started, t.Ended)
	}
	for _, g := range s.Gates {
		to = latest(to, g.Ended)
	}
	return timeline{From: from, Middle: from.Add(to.Sub(from) / 2), To: to, Lanes: lanes(s, from, to, most)}
}

// latest returns the last of some times.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// lane is the time of one member: its turns, and where gates refused.
type lane struct {
	Name  string
	Turns []mark
	Ends  []mark
}

// mark is a part of a lane, in parts of a thousand.
type mark struct {
	X, Width int
	Class    string
}

// lanes draws the newest turns of all members over a time.
func lanes(s *view.State, from, to time.Time, most int) []lane {
	whole := max(to.Sub(from), time.Millisecond)
	at := func(t time.Time) int { return min(max(int(1000*t.Sub(from)/whole), 0), 998) }
	byName := map[string]int{}
	var list []lane
	for _, m := range s.Members {
		byName[m.Name] = len(list)
		list = append(list, lane{Name: m.Name})
	}
	for _, t := range s.Turns[max(0, len(s.Turns)-most):] {
		i, ok := byName[t.Member]
		if !ok {
			continue
		}
		end := t.Ended
		if end.IsZero() {
			end = to
		}
		x := at(t.Started)
		list[i].Turns = append(list[i].Turns, mark{X: x, Width: max(at(end)-x, 3), Class: turnClass(t)})
	}
	for _, g := range s.Gates[max(0, len(s.Gates)-most):] {
		if i, ok := byName[g.Member]; ok && g.At == view.AtTurnEnd && refuses(g) {
			list[i].Ends = append(list[i].Ends, mark{X: at(g.Ended), Width: 2, Class: string(g.Verdict)})
		}
	}
	return slices.DeleteFunc(list, func(l lane) bool { return len(l.Turns) == 0 })
}

// turnClass returns how a turn went.
func turnClass(t *view.Turn) string {
	switch {
	case t.Reason == "":
		return "busy"
	case t.Empty:
		return "nothing"
	case t.Reason == "completed" || t.Reason == "end_turn":
		return "good"
	}
	return "bad"
}
