package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Bounds of what the main page shows; the rest has pages of its own.
const (
	shownTurns   = 40 // turn ends
	shownMail    = 50
	shownMerges  = 50  // those that are over; the others are all there
	shownTasks   = 100 // likewise
	foldedTasks  = 6   // more tasks that are done are folded
	shownGates   = 6   // of a task
	shownAnswers = 20  // questions that were answered
	shownMarks   = 300 // turns, and refusals, of the chart
)

// Section is a part of a page: a title and rows.
type Section struct {
	ID    string
	Class string
	Title string
	Head  template.HTML
	Rows  []Row
	// Fold, unless it is empty, is the line under which the rows from Open on are folded. With Whole the
	// section is that line alone until it is opened.
	Fold  string
	Open  int
	Whole bool
}

// Shown returns the rows that are not folded.
func (s *Section) Shown() []Row {
	if s.Fold == "" {
		return s.Rows
	}
	return s.Rows[:s.Open]
}

// Folded returns the rows that are folded.
func (s *Section) Folded() []Row { return s.Rows[len(s.Shown()):] }

// Row is a piece of a section with an id of its own in the page.
type Row struct {
	ID   string
	HTML template.HTML
}

// Drawing draws a team as sections of HTML. Its fields are set before it is used, and it is used
// once, because the State may change afterwards.
type Drawing struct {
	State     *view.State
	Now       *api.Status        // of the running team; nil: none has answered
	Stopped   bool               // it is known that no process runs the team
	Trouble   string             // why the journal cannot be read further
	Templates *template.Template // of Templates
	Form      string             // the token of the forms; empty: there are no forms
	// Places are the keys of the pieces of work that an open page has among those which wait: they keep their
	// places when they are decided. A drawing adds those that wait. Nil: all that is decided is folded.
	Places map[string]bool
	// Before are the rows of an earlier Drawing with the same templates. Those whose data are the
	// same are not drawn again.
	Before Rows
	// Kept are the sections of an earlier Drawing with the same fields, if State.Work is the same, too:
	// those of tasks, merges and mail are taken from it. They cost most, and most lines of a journal are
	// about what a member says and does. Nil: all are drawn.
	Kept []*Section

	most *limits // of a report; nil: of a page
	rows Rows
	err  error // the first one of a template
}

// Sections returns the sections of the main page, in the order in which a person needs them. All
// are always there, because only what is in the page can be replaced.
func (d *Drawing) Sections() ([]*Section, error) {
	if d.most == nil {
		d.most = &limits{Rows: math.MaxInt, Turns: shownTurns, Merges: shownMerges, Tasks: shownTasks, Answers: shownAnswers, Marks: shownMarks}
	}
	var done []*Section
	for i, part := range []struct {
		draw func(*Drawing) *Section
		work bool // it depends on what State.Work is about alone
	}{
		{(*Drawing).needs, false}, {(*Drawing).header, false}, {(*Drawing).review, true}, {(*Drawing).members, false}, {(*Drawing).graph, true},
		{(*Drawing).tasks, true}, {(*Drawing).turns, false}, {(*Drawing).asks, false}, {(*Drawing).mail, true}, {(*Drawing).answers, false},
	} {
		if part.work && d.Kept != nil {
			done = append(done, d.keep(d.Kept[i]))
			continue
		}
		one := part.draw(d)
		if d.err != nil {
			return nil, fmt.Errorf("draw the team: %w", d.err)
		}
		if more := len(one.Rows) - d.most.Rows; more > 0 {
			one.Rows = append(one.Rows[:d.most.Rows:d.most.Rows], Row{HTML: template.HTML(fmt.Sprintf( //nolint:gosec // a number
				`<p class="quiet">%d more; covey tasks and covey logs have them</p>`, more))})
		}
		done = append(done, one)
	}
	return done, nil
}

// keep takes a section from an earlier drawing, and its rows for the next one.
func (d *Drawing) keep(s *Section) *Section {
	for _, r := range s.Rows {
		d.keepRow(r.ID, d.Before[r.ID])
	}
	return s
}

// Execute returns a template, filled in, as HTML.
func Execute(t *template.Template, name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := t.ExecuteTemplate(&out, name, data)
	return template.HTML(out.String()), err //nolint:gosec // it was escaped by the template
}

// execute is Execute for a part of the drawing.
func (d *Drawing) execute(name string, data any) template.HTML {
	html, err := Execute(d.Templates, name, data)
	d.err = cmp.Or(d.err, err)
	return html
}

// row adds a row to a section, made by a template of which ID is the first field.
func (d *Drawing) row(s *Section, id, name string, data any) {
	all := struct {
		ID   string
		Form string
		Up   bool
		Data any
	}{id, d.Form, d.Now != nil, data}
	s.Rows = append(s.Rows, Row{ID: id, HTML: d.drawn(id, name, all)})
}

// needs lists what waits for a person, the oldest first. Finished work is in the review queue.
func (d *Drawing) needs() *Section {
	list := d.State.Needs()
	all := len(list)
	list = slices.DeleteFunc(list, func(n api.Need) bool { return isPiece(d.State, n) })
	s := &Section{ID: "needs", Class: "needs", Title: "Needs you"}
	switch work := all - len(list); {
	case all == 0:
		s.Class, s.Title = "needs none", "Nothing needs you"
	case len(list) == 0:
		s.Class, s.Title = "needs empty", "Nothing but "+texts.Plural(work, "piece")+" of work to review needs you"
	}
	requests := map[string]*view.Request{}
	for _, r := range d.State.Requests {
		requests[r.ID] = r
	}
	for _, n := range list {
		one := struct {
			api.Need
			Request *view.Request
		}{Need: n}
		if n.Kind == api.NeedsAnswer {
			one.Request = requests[n.ID]
		}
		d.row(s, "need-"+DomID(string(n.Kind)+"-"+n.ID), "need", one)
	}
	return s
}

// classOf returns the class of a colour, as style sheets call it.
func classOf(style term.Style) string {
	switch style {
	case term.Red:
		return "bad"
	case term.Yellow:
		return "wait"
	case term.Green:
		return "good"
	case term.Cyan:
		return "busy"
	}
	return "quiet"
}

// MemberRow is what a page says of a member.
type MemberRow struct {
	Name, Agent string
	Lead        bool
	Word, Class string // its state, and the class of its colour
	Since       time.Time
	Task        string   // the first one in progress; empty: none
	InProgress  []string // all of them
	Pass, Turn  int
	Unread      int
	Attention   string
	WaitsFor    string // in words: what it waits for, in place of what it does
	Doing       string
	Lockout     *view.Lockout
	Held        *view.Hold
	Done        accounts.Counts
	Spent       view.Spent
	Full        int64 // percent of its context; -1: nobody says so
	Branch      string
	Box         string // the level of its sandbox; empty: it has none
	Copy        string // what its working copy has of its own; empty: unknown, or it has none
}

// RowOf returns the row of a member. graph has the tasks of s.
func RowOf(s *view.State, m *view.Member, graph []tasks.Outline) MemberRow {
	one := MemberRow{
		Name: m.Name, Agent: m.Agent, Lead: m.Lead, Since: m.Since, InProgress: slices.Clone(m.InProgress), Pass: m.Pass,
		Turn: m.Turn, Unread: m.Unread, Attention: m.Attention, Doing: m.Doing, Lockout: m.Lockout,
		Held: m.Held, Done: m.Done.Counts, Spent: m.Spent, Full: -1,
	}
	word, style := termview.MemberWord(m)
	one.Word, one.Class = word, classOf(style)
	if does := termview.MemberDoes(s, m, graph); m.Attention == "" && m.Lockout == nil { // these have lines of their own
		if does != term.Short(m.Doing) || m.State == api.Waiting {
			one.WaitsFor, one.Doing = does, ""
		}
	}
	if len(m.InProgress) > 0 && s.Task(m.InProgress[0]) != nil {
		one.Task = m.InProgress[0]
	}
	if part, ok := m.Done.Context.Percent(); ok {
		one.Full = part
	}
	if m.Box != nil {
		one.Box = m.Box.Word()
	}
	if m.Worktree != nil {
		one.Branch = m.Worktree.Branch
	}
	if m.Node != "" {
		one.Agent += " on " + m.Node
	}
	return one
}

// members lists the members.
func (d *Drawing) members() *Section {
	s := &Section{ID: "members", Class: "members", Title: "Members"}
	graph := d.State.Graph()
	for _, m := range d.State.Roster(!d.Stopped) {
		if m.Left {
			continue
		}
		one := RowOf(d.State, m, graph)
		if own := d.copyOf(m.Name); own != nil {
			one.Branch, one.Copy = own.Branch, strings.Join(termview.CopyWords(*own), " · ")
		}
		d.row(s, "member-"+DomID(m.Name), "member", one)
	}
	return s
}

// copyOf returns what the running team says of a member's working copy; nil: nothing.
func (d *Drawing) copyOf(member string) *workcopies.Status {
	if d.Now == nil {
		return nil
	}
	for _, m := range d.Now.Members {
		if m.Name == member {
			return m.Worktree
		}
	}
	return nil
}

// graph shows what waits for what.
func (d *Drawing) graph() *Section {
	g := drawGraph(d.State)
	s := &Section{ID: "graph", Class: "graph", Title: "What waits for what"}
	if len(g.Nodes) == 0 {
		s.Class = "graph empty"
	}
	s.Rows = []Row{{ID: "drawing", HTML: d.drawn("drawing", "graph", g)}}
	return s
}

// tasks lists the tasks. Of those that are over it has the newest: after a day there are a thousand,
// which a browser takes half a second to show.
func (d *Drawing) tasks() *Section {
	counts := d.State.TaskCounts()
	s := &Section{ID: "tasks", Class: "tasks", Title: fmt.Sprintf("Tasks: %d of %d done", counts.Completed, counts.Total())}
	works := d.State.Works()
	over := func(t *view.Task) bool {
		m := works.Merges[t.ID]
		return !t.Deleted && t.Status == tasks.Completed && (m == nil || m.State.Over())
	}
	older := -d.most.Tasks // how many are left out
	for _, t := range d.State.Tasks {
		if over(t) {
			older++
		}
	}
	if older > 0 {
		s.Head = template.HTML(fmt.Sprintf(`<p class="quiet">%d that are done are not shown; covey tasks lists them</p>`, older)) //nolint:gosec // a number
	}
	var done []*view.Task
	var open []*view.Task
	for _, t := range d.State.Tasks {
		switch {
		case older > 0 && over(t):
			older--
		case t.Deleted:
		case t.Status == tasks.Completed:
			done = append(done, t)
		default:
			open = append(open, t)
		}
	}
	list := append(open, done...)
	if len(done) > foldedTasks { // their work is in the review queue
		s.Open, s.Fold = len(open), texts.Plural(len(done), "task")+" done"
	} else {
		slices.SortFunc(list, func(a, b *view.Task) int { return tasks.CompareIDs(a.ID, b.ID) })
	}
	for _, t := range list {
		one := rowOf(d.State, works, t)
		line := taskLine{
			ID: t.ID, Subject: t.Subject, Owner: t.Owner, Word: one.Word, Class: one.Class,
			Unchanged: t.Unchanged, Refusals: t.Refusals, SentBack: t.SentBack,
		}
		line.Marks = hints.Words(works.Hints(d.State, t))
		line.Gates = signs(one.Gates, shownGates)
		d.row(s, "task-"+DomID(t.ID), "task", line)
	}
	return s
}

// taskLine is what the list of tasks says of one.
type taskLine struct {
	ID, Subject, Owner string
	Word, Class        string
	Gates              []gateSign // the last ones
	Marks              []string   // what a person should look at: words of its hints
	Unchanged          bool
	Refusals, SentBack int
}

// gateSign is a gate as one letter.
type gateSign struct {
	ID, Event string
	Verdict   view.Verdict
}

// signs returns the last n gates as signs.
func signs(gates []*view.Gate, n int) []gateSign {
	var list []gateSign
	for _, g := range gates[max(0, len(gates)-n):] {
		list = append(list, gateSign{g.ID, g.Event, g.Verdict})
	}
	return list
}

// turnRow is one turn with its ends: after a refusal the member goes on, and the turn ends again.
type turnRow struct {
	*view.Turn
	Bars   []bar
	Rounds [][]bar // Bars, a list for each end
}

// bar is one run of the gates of an event, as a bar of the timeline. Left and Width are parts
// of a thousand of the time that the gates of the turn took.
type bar struct {
	*view.Gate
	Left, Width int
	Took        time.Duration
}

// turns is the timeline of turn ends: the newest turns with gates first.
func (d *Drawing) turns() *Section {
	s := &Section{ID: "turns", Class: "turns", Title: "Turn ends"}
	s.Head = d.drawn("lanes", "lanes", timelineOf(d.State, d.most.Marks))
	type turnKey struct { // a text in its place took most of the time of this list
		member string
		number int
	}
	ends := map[turnKey][]*view.Gate{}
	for _, g := range d.State.Gates {
		if key := (turnKey{g.Member, g.Turn}); g.At == view.AtTurnEnd {
			ends[key] = append(ends[key], g)
		}
	}
	for _, t := range slices.Backward(d.State.Turns) {
		if len(s.Rows) == d.most.Turns {
			break
		}
		gates := ends[turnKey{t.Member, t.Number}]
		if len(gates) == 0 {
			continue
		}
		one := turnRow{Turn: t, Bars: bars(gates, d.State.Time)}
		for _, b := range one.Bars {
			if b.Event == string(hooks.Stop) || len(one.Rounds) == 0 {
				one.Rounds = append(one.Rounds, nil)
			}
			last := len(one.Rounds) - 1
			one.Rounds[last] = append(one.Rounds[last], b)
		}
		d.row(s, fmt.Sprintf("turn-%s-%d", DomID(t.Member), t.Number), "turn", one)
	}
	if n := len(s.Rows); n > 0 {
		s.Fold = texts.Plural(n, "turn") + ", end by end"
	}
	return s
}

// bars lays out gates that ran one after another.
func bars(gates []*view.Gate, now time.Time) []bar {
	first, last := gates[0].Started, gates[0].Started
	for _, g := range gates {
		if end := cmp.Or(g.Ended, now); end.After(last) {
			last = end
		}
	}
	whole := max(last.Sub(first), time.Millisecond)
	list := make([]bar, len(gates))
	for i, g := range gates {
		took := max(cmp.Or(g.Ended, now).Sub(g.Started), 0)
		list[i] = bar{
			Gate: g, Took: took, Left: int(1000 * g.Started.Sub(first) / whole), Width: max(int(1000*took/whole), 8),
		}
	}
	return list
}

// mail lists the newest messages.
func (d *Drawing) mail() *Section {
	s := &Section{ID: "mail", Class: "mail", Title: "Mail"}
	spent := struct {
		events.Coordination
		TaskTokens int64 // for each finished task
		TaskTurns  float64
	}{Coordination: d.State.Noticed()}
	if spent.Finished > 0 {
		spent.TaskTokens, spent.TaskTurns = spent.PerTask()
	}
	s.Head = d.execute("mailhead", spent)
	list := d.State.Mail
	for _, m := range slices.Backward(list[max(0, len(list)-shownMail):]) {
		d.row(s, "letter-"+DomID(m.ID), "letter", m)
	}
	s.Whole, s.Fold = true, texts.Plural(len(s.Rows), "message")
	if len(s.Rows) == 0 {
		s.Class = "mail empty"
	}
	return s
}

// answers lists the newest questions that were answered.
func (d *Drawing) answers() *Section {
	s := &Section{ID: "answers", Class: "answers", Title: "Questions that were answered", Whole: true}
	for _, q := range slices.Backward(d.State.Requests) {
		if q.Open() {
			continue
		}
		if len(s.Rows) == d.most.Answers {
			break
		}
		d.row(s, "answer-"+DomID(q.ID), "answer", q)
	}
	s.Fold = texts.Plural(len(s.Rows), "question")
	if len(s.Rows) == 0 {
		s.Class = "answers empty"
	}
	return s
}

// asks lists the open questions to members, which a person may answer in their place.
func (d *Drawing) asks() *Section {
	s := &Section{ID: "asks", Class: "asks", Title: "Questions to members"}
	for _, q := range d.State.Requests {
		if q.Open() && q.To != actors.Operator {
			d.row(s, "ask-"+DomID(q.ID), "ask", q)
		}
	}
	if len(s.Rows) == 0 {
		s.Class = "asks empty"
	}
	return s
}
