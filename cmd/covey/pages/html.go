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

// limits say how much of a team a report shows. What is left out is said, and where it is.
type limits struct {
	Rows, Works, Turns int // of each list, tasks with their history, turn ends
	Diff, Diffs        int // bytes of the differences of one task, of all
	Output, Outputs    int // bytes of what one gate has printed, all
	Marks, Answers     int // turns and refusals on the timeline, answered questions
}

// fullLimits are those of nearly all reports.
func fullLimits() limits {
	return limits{
		Rows: 2000, Works: 300, Turns: 200, Marks: 1000, Answers: 100,
		Diff: 48 << 10, Diffs: 2 << 20, Output: 4 << 10, Outputs: 1 << 20,
	}
}

// halved are limits for a report that is too large.
func (l limits) halved() limits {
	for _, n := range []*int{
		&l.Rows, &l.Works, &l.Turns, &l.Marks, &l.Answers, &l.Diff, &l.Diffs, &l.Output, &l.Outputs,
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
// to places in the report, and times say their day if the report has several.
func reportFunctions(s *view.State) template.FuncMap {
	layout := "15:04:05"
	if first := beginning(s); s.Time.Sub(first) > 20*time.Hour {
		layout = "Jan 2 15:04:05"
	}
	return template.FuncMap{
		"clock":      func(t time.Time) string { return t.Local().Format(layout) },
		"taskhref":   func(id string) string { return "#work-" + DomID(id) },
		"memberhref": func(name string) string { return "#member-" + DomID(name) },
		"linehref":   func(name string, _ uint64) string { return "#member-" + DomID(name) },
		"gatehref":   func(id string, _ string) string { return "#work-" + DomID(id) },
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
	Needs    []view.Need
	Sections map[string]*Section
	Graph    graph
	Lanes    []lane
	Middle   time.Time
	Works    []taskReport
	Fewer    int // tasks that are only in the list
	Answers  []*view.Request
}

// render makes the page.
func (r *report) render(tmpl *template.Template, l limits) ([]byte, error) {
	all := style + reportStyle
	sum := sha256.Sum256([]byte(all))
	zone, _ := r.Made.Local().Zone()
	p := reportPage{
		report: r, From: beginning(r.State), Zone: zone,
		Style: template.CSS(all), //nolint:gosec // it is our own file
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Needs: r.State.Needs(), Graph: drawGraph(r.State), Lanes: lanes(r.State, l.Marks),
		Answers: answered(r.State, l.Answers),
	}
	p.Middle = p.From.Add(r.State.Time.Sub(p.From) / 2)
	var err error
	if p.Sections, err = r.sections(tmpl, l); err != nil {
		return nil, err
	}
	p.Works, p.Fewer = r.works(l)
	var out bytes.Buffer
	if err = tmpl.ExecuteTemplate(&out, "report", p); err != nil {
		return nil, fmt.Errorf("fill in its template: %w", err)
	}
	return out.Bytes(), nil
}

// sections makes the sections that a report has in common with the page.
func (r *report) sections(tmpl *template.Template, l limits) (map[string]*Section, error) {
	d := Drawing{
		State: r.State, Now: r.Now, Stopped: r.Now == nil, Templates: tmpl,
		turnsShown: l.Turns, mergesShown: l.Rows, tasksShown: len(r.State.Tasks),
	}
	all := map[string]*Section{}
	for _, make := range []func(*Drawing) (*Section, error){
		(*Drawing).header, (*Drawing).members, (*Drawing).tasks, (*Drawing).turns, (*Drawing).merges,
		(*Drawing).mail,
	} {
		one, err := make(&d)
		if err != nil {
			return nil, fmt.Errorf("draw its sections: %w", err)
		}
		if more := len(one.Rows) - l.Rows; more > 0 {
			one.Rows = append(one.Rows[:l.Rows:l.Rows], Row{HTML: template.HTML(fmt.Sprintf( //nolint:gosec // a number
				`<p class="quiet">%d more; covey tasks and covey logs have them</p>`, more))})
		}
		all[one.ID] = one
	}
	return all, nil
}

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

// lanes draws the newest turns of all members over the time of the team.
func lanes(s *view.State, most int) []lane {
	from := beginning(s)
	whole := max(s.Time.Sub(from), time.Millisecond)
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
			end = s.Time
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

// turnClass says how a turn went.
func turnClass(t *view.Turn) string {
	switch {
	case t.Reason == "":
		return "busy"
	case t.Empty:
		return "nothing"
	case t.Refusals > 0:
		return "wait"
	case t.Reason == "completed" || t.Reason == "end_turn":
		return "good"
	}
	return "bad"
}

// answered returns the newest questions that were answered.
func answered(s *view.State, most int) []*view.Request {
	var list []*view.Request
	for _, q := range slices.Backward(s.Requests) {
		if !q.Open() && len(list) < most {
			list = append(list, q)
		}
	}
	return list
}
