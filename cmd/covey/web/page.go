package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Bounds of what the main page shows; the rest has pages of its own.
const (
	shownTurns = 40 // turn ends
	shownMail  = 50
)

// shell is what a whole page is made of.
type shell struct {
	Title    string
	Form     string // the token of its forms
	Events   string // where its changes come from; empty: it does not change
	Sections []*section
	Body     template.HTML
	Said     string // the answer to the last action
}

// showBoard answers with the main page.
func (p *Page) showBoard(w http.ResponseWriter, r *http.Request) {
	sections, version, err := p.board.all()
	if err != nil {
		fail(w, r, err)
		return
	}
	p.show(w, r, shell{
		Title: p.place.Team, Sections: sections,
		Events: fmt.Sprintf("/events?after=%s-%d", p.guard.sign("stream")[:8], version),
	})
}

// show answers with a page.
func (p *Page) show(w http.ResponseWriter, r *http.Request, s shell) {
	s.Form, s.Said = p.guard.formToken(), r.URL.Query().Get("said")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := p.tmpl.ExecuteTemplate(w, "page", s); err != nil {
		fail(w, r, err) // the connection is lost, or the page is half written: the text says so
	}
}

// sectionsOf makes the sections of the main page, in the order in which a person needs them. All
// are always there, because only what is in the page can be replaced.
func (b *board) sectionsOf(s *view.State, now *api.Status, trouble string) ([]*section, error) {
	d := drawing{board: b, state: s, now: now, trouble: trouble, turnsShown: shownTurns}
	for _, make := range []func(*drawing) (*section, error){
		(*drawing).needs, (*drawing).header, (*drawing).members, (*drawing).graph, (*drawing).tasks, (*drawing).turns,
		(*drawing).merges, (*drawing).mail,
	} {
		one, err := make(&d)
		if err != nil {
			return nil, err
		}
		d.done = append(d.done, one)
	}
	return d.done, nil
}

// drawing is the main page while it is drawn.
type drawing struct {
	board   *board
	state   *view.State
	now     *api.Status
	trouble string
	done    []*section

	turnsShown int // turn ends, at most
}

// row adds a row to a section, made by a template of which ID is the first field.
func (d *drawing) row(s *section, id, name string, data any) error {
	html, err := d.board.execute(name, struct {
		ID   string
		Form string
		Up   bool
		Data any
	}{id, d.board.form, d.now != nil, data})
	s.Rows = append(s.Rows, row{ID: id, HTML: html})
	return err
}

// needs lists what waits for a person, the oldest first.
func (d *drawing) needs() (*section, error) {
	list := d.state.Needs()
	s := &section{ID: "needs", Class: "needs", Title: "Needs you"}
	if len(list) == 0 {
		s.Class, s.Title, s.Head = "needs none", "Nothing needs you", ""
		return s, nil
	}
	for _, n := range list {
		one := struct {
			view.Need
			Request *view.Request
			Task    string // the task that it is about
		}{Need: n}
		for _, r := range d.state.Requests {
			if n.Kind == view.NeedsAnswer && r.ID == n.ID {
				one.Request = r
			}
		}
		for _, m := range d.state.Merges {
			if len(m.Tasks) > 0 && (n.Kind == view.NeedsMerge && m.ID == n.ID || one.Request != nil && m.Asked == n.ID) {
				one.Task = m.Tasks[0]
			}
		}
		if err := d.row(s, "need-"+domID(string(n.Kind)+"-"+n.ID), "need", one); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// headline is the state of the whole team.
type headline struct {
	Run      view.Run
	Runs     bool   // a process runs the team
	Words    string // its state
	Class    string
	Done     int
	All      int
	Tokens   int64
	CostUSD  float64
	Turns    journal.TurnCount
	Refused  int
	Budget   []journal.BudgetUse
	Waits    *view.Wait
	Trouble  string
	Gaps     []view.Gap
	Attached int
}

// header summarizes the team.
func (d *drawing) header() (*section, error) {
	run, counts := d.state.Run(), d.state.TaskCounts()
	if worked := d.state.StaffedRun(); run.Merge != "" && worked.First > 0 {
		run = worked // covey merge has no goal and no turns
	}
	h := headline{
		Run: run, Runs: d.now != nil, Done: counts.Completed, All: counts.Total(), Turns: run.Turns,
		Refused: run.Refusals, Budget: d.state.Budget, Waits: d.state.Waits, Trouble: d.trouble,
	}
	for _, g := range d.state.Gaps {
		if !g.Restart {
			h.Gaps = append(h.Gaps, g)
		}
	}
	for _, m := range d.state.Members {
		h.Tokens, h.CostUSD = h.Tokens+m.Spent.Tokens, h.CostUSD+m.Spent.CostUSD
	}
	if d.now != nil {
		h.Budget, h.Attached = d.now.Budget, d.now.Attached
	}
	h.Words, h.Class = stateOf(d.state, d.now != nil)
	s := &section{ID: "team", Class: "team", Title: d.state.Team}
	return s, d.row(s, "headline", "headline", h)
}

// stateOf says in words what the team does, and the class of its colour.
func stateOf(s *view.State, runs bool) (words, class string) {
	run := s.Run()
	switch {
	case !runs && run.ExitCode != nil && *run.ExitCode == 0:
		return "done: " + run.Reason, "good"
	case !runs && run.Reason != "":
		return "ended: " + run.Reason, "bad"
	case !runs && run.First == 0:
		return "has never run", "quiet"
	case !runs:
		return "does not run: it was cut off; covey up goes on", "bad"
	case s.Waits != nil:
		return "waits for the end of a usage limit", "wait"
	case len(s.Needs()) > 0:
		return "needs you", "bad"
	}
	working := 0
	for _, m := range s.Members {
		if m.State == api.Working {
			working++
		}
	}
	if working == 0 {
		return "idle", "quiet"
	}
	return fmt.Sprintf("%s of %d at work", term.Plural(working, "member"), len(s.Members)), "good"
}

// memberRow is one member.
type memberRow struct {
	*view.Member
	Live  *api.MemberStatus // nil if the team does not run
	Word  string            // its state
	Class string
	Task  *view.Task
}

// members lists the members.
func (d *drawing) members() (*section, error) {
	live := map[string]*api.MemberStatus{}
	if d.now != nil {
		for i := range d.now.Members {
			live[d.now.Members[i].Name] = &d.now.Members[i]
		}
	}
	s := &section{ID: "members", Class: "members", Title: "Members"}
	for _, m := range d.state.Members {
		if m.Left {
			continue
		}
		one := memberRow{Member: m, Live: live[m.Name]}
		one.Word, one.Class = memberWord(m)
		if len(m.InProgress) > 0 {
			one.Task = d.state.Task(m.InProgress[0])
		}
		if err := d.row(s, "member-"+domID(m.Name), "member", one); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// memberWord says a member's state in a word or two, and the class of its colour.
func memberWord(m *view.Member) (word, class string) {
	switch {
	case m.Attention != "":
		return string(api.NeedsAttention), "bad"
	case m.State == api.Working && m.Gate != "":
		return "at the gates", "wait"
	case m.State == api.Working:
		return string(m.State), "good"
	case m.Held != nil:
		return string(api.Held), "wait"
	case m.State == api.LoggedOut || m.State == api.NeedsAttention:
		return string(m.State), "bad"
	case m.State == api.Limited || m.State == api.Waiting:
		return string(m.State), "wait"
	}
	return string(m.State), "quiet"
}

// taskRow is one task.
type taskRow struct {
	*view.Task
	Word  string
	Class string
	Gates []*view.Gate // the last ones
	Marks []string     // what a person should look at: words of its alarms
	Waits []string     // ids of open tasks that it waits for
	Merge *view.Merge
}

// graph shows what waits for what.
func (d *drawing) graph() (*section, error) {
	g := drawGraph(d.state)
	s := &section{ID: "graph", Class: "graph", Title: "What waits for what"}
	if len(g.Nodes) == 0 {
		s.Class = "graph empty"
	}
	html, err := d.board.execute("graph", g)
	s.Rows = []row{{ID: "drawing", HTML: html}}
	return s, err
}

// tasks lists the tasks.
func (d *drawing) tasks() (*section, error) {
	counts := d.state.TaskCounts()
	s := &section{ID: "tasks", Class: "tasks", Title: fmt.Sprintf("Tasks: %d of %d done", counts.Completed, counts.Total())}
	gates := map[string][]*view.Gate{}
	for _, g := range d.state.Gates {
		if g.Task != "" {
			gates[g.Task] = append(gates[g.Task], g)
		}
	}
	merges := map[string]*view.Merge{}
	for _, m := range d.state.Merges {
		for _, id := range m.Tasks {
			merges[id] = m
		}
	}
	for _, t := range d.state.Tasks {
		if t.Deleted {
			continue
		}
		one := taskRow{Task: t, Merge: merges[t.ID], Gates: gates[t.ID]}
		one.Marks = d.board.alarms.words(d.state, t)
		one.Gates = one.Gates[max(0, len(one.Gates)-6):]
		for _, id := range t.BlockedBy {
			if other := d.state.Task(id); other != nil && !other.Deleted && other.Status != tasks.Completed {
				one.Waits = append(one.Waits, id)
			}
		}
		one.Word, one.Class = taskWord(one)
		if err := d.row(s, "task-"+domID(t.ID), "task", one); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// taskWord says a task's state in a word or two, and the class of its colour.
func taskWord(t taskRow) (word, class string) {
	switch {
	case t.Status == tasks.Completed && t.Merge != nil && t.Merge.State == tasks.MergeDone:
		return "merged", "good"
	case t.Status == tasks.Completed && t.Merge != nil:
		return "done, " + string(t.Merge.State), "wait"
	case t.Status == tasks.Completed:
		return "done", "good"
	case t.Awaits != "":
		return "awaits " + t.Awaits, "wait"
	case t.Status == tasks.InProgress:
		return "in progress", "busy"
	case len(t.Waits) > 0:
		return "waits for " + strings.Join(t.Waits, ", "), "quiet"
	}
	return "ready", "quiet"
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
func (d *drawing) turns() (*section, error) {
	s := &section{ID: "turns", Class: "turns", Title: "Turn ends"}
	ends := map[string][]*view.Gate{}
	key := func(member string, turn int) string { return fmt.Sprintf("%s %d", member, turn) }
	for _, g := range d.state.Gates {
		if g.At == view.AtTurnEnd {
			ends[key(g.Member, g.Turn)] = append(ends[key(g.Member, g.Turn)], g)
		}
	}
	for _, t := range slices.Backward(d.state.Turns) {
		gates := ends[key(t.Member, t.Number)]
		if len(gates) == 0 || len(s.Rows) == d.turnsShown {
			continue
		}
		one := turnRow{Turn: t, Bars: bars(gates, d.state.Time)}
		for _, b := range one.Bars {
			if b.Event == string(hooks.Stop) || len(one.Rounds) == 0 {
				one.Rounds = append(one.Rounds, nil)
			}
			last := len(one.Rounds) - 1
			one.Rounds[last] = append(one.Rounds[last], b)
		}
		if err := d.row(s, fmt.Sprintf("turn-%s-%d", domID(t.Member), t.Number), "turn", one); err != nil {
			return nil, err
		}
	}
	return s, nil
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

// merges lists the work that is not merged, and the last that is.
func (d *drawing) merges() (*section, error) {
	s := &section{ID: "merges", Class: "merges", Title: "Merges"}
	if len(d.state.Merges) == 0 {
		s.Class = "merges empty"
	}
	for _, m := range slices.Backward(d.state.Merges) {
		if err := d.row(s, "merge-"+domID(m.ID), "merge", m); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// mail lists the newest messages.
func (d *drawing) mail() (*section, error) {
	s := &section{ID: "mail", Class: "mail", Title: "Mail"}
	spent := d.state.Coordination
	head, err := d.board.execute("mailhead", spent)
	if err != nil {
		return nil, err
	}
	s.Head = head
	list := d.state.Mail
	for _, m := range slices.Backward(list[max(0, len(list)-shownMail):]) {
		if err := d.row(s, "letter-"+domID(m.ID), "letter", m); err != nil {
			return nil, err
		}
	}
	return s, nil
}
