package pages

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// story is what a report begins with, for somebody who was not there.
type story struct {
	Asked        string
	Words, Class string   // the state of the team
	Facts        []string // in numbers
	Notes        []string // what a reader must know besides
	Parts        []part
}

// part is the answer to one question: what is open, what was refused, and so on.
type part struct {
	Title string
	Head  string // the head of a table in Markdown; empty: it is a list
	Rows  []storyRow
	Rest  string // the command that shows all
}

// storyRow is a line of a part.
type storyRow struct {
	Word, Class string // may be empty
	Text        string
	Task        string // the task that it is about; empty: none
}

// firstRows is how many rows of a part the first screen of a report shows.
const firstRows = 6

// First returns the rows on the first screen, and Rows the others.
func (p part) First() []storyRow { return p.Rows[:min(len(p.Rows), firstRows)] }

// Others returns the rows that are not on the first screen.
func (p part) Others() []storyRow { return p.Rows[len(p.First()):] }

// story tells what has happened.
func (r *report) story() story {
	s := r.State
	h := (&Drawing{State: s, Now: r.Now}).headline()
	t := story{Asked: h.Run.Goal, Words: h.Words, Class: h.Class, Facts: termview.CountWords(s.TaskCounts(), s.WorkCounts())}
	t.Facts = append(t.Facts, fmt.Sprintf("%d refused", h.Refused))
	turns := texts.Plural(h.Turns.Turns, "turn")
	if h.Turns.Completed > 0 {
		turns += fmt.Sprintf(" (%.1f a task, %d empty)", h.Turns.PerTask, h.Turns.Empty)
	}
	t.Facts = append(t.Facts, turns, fmt.Sprintf("%d tokens", h.Tokens), fmt.Sprintf("$%.2f", h.CostUSD), term.Elapsed(s.Time.Sub(beginning(s))))
	for _, u := range h.Budget {
		t.Facts = append(t.Facts, "budget: "+u.BudgetUse.String())
	}
	t.Notes = slices.Clone(r.Notes)
	for _, n := range h.Moved {
		t.Notes = append(t.Notes, n.Text)
	}
	for _, p := range []part{r.openPart(), r.lookPart(false), r.refusedPart(), r.decidedPart(), r.mergedPart(), r.lookPart(true), r.memberPart()} {
		if len(p.Rows) > 0 {
			t.Parts = append(t.Parts, p)
		}
	}
	return t
}

// openPart lists what somebody still has to do.
func (r *report) openPart() part {
	s, p := r.State, part{Title: "Open", Rest: "covey inbox"}
	const most = 10
	var waits []string
	marked := 0
	for _, n := range s.Needs() {
		if n.Kind == api.NeedsMerge { // the tasks below have their marks
			waits, marked = append(waits, cmp.Or(n.Task, n.Member)), marked+min(len(n.Marks), 1)
			continue
		}
		p.Rows = append(p.Rows, storyRow{
			Word: termview.NeedWord(n), Class: classOf(termview.NeedStyle(n)), Task: n.Task,
			Text: strings.TrimPrefix(termview.MarksText(n.Marks)+" · "+n.Member+": "+termview.NeedText(n), " · "),
		})
	}
	if len(waits) > 0 {
		p.Rows = append(p.Rows, storyRow{Word: "to merge", Class: "wait", Text: fmt.Sprintf("%s of work, %d with marks (covey review): %s",
			texts.Plural(len(waits), "piece"), marked, texts.Few(waits, most))})
	}
	var ready, open []string
	for _, m := range s.Merges {
		if m.State == tasks.MergeReady {
			ready = append(ready, m.Name())
		}
	}
	for _, t := range shown(s) {
		if t.Status != tasks.Completed {
			open = append(open, t.ID)
		}
	}
	if len(ready) > 0 {
		p.Rows = append(p.Rows, storyRow{Word: "ready for a pull request", Class: "wait", Text: texts.Few(ready, most)})
	}
	if len(open) > 0 {
		p.Rows = append(p.Rows,
			storyRow{Word: "not done", Class: "wait", Text: texts.Plural(len(open), "task") + ": " + texts.Few(open, most)})
	}
	return p
}

// lookPart lists the marks of work that is over or was sent back, or else of what is not, and the notes after them. Those that later work has
// from the work that it contains are one.
func (r *report) lookPart(over bool) part {
	p := part{Title: "Look at first", Rest: "covey review"}
	if over {
		p.Title = "Hints in what is decided"
	}
	w := r.State.Works()
	for _, mark := range []bool{true, false} {
		found := map[string]int{} // the row of a hint
		var ids [][]string
		before := len(p.Rows)
		for _, t := range shown(r.State) {
			back := w.Merges[t.ID] != nil && w.Merges[t.ID].State == tasks.MergeReturned
			if (isOver(w, t) || back) != over {
				continue
			}
			for _, h := range w.Hints(r.State, t) {
				if h.Mark != mark || !mark && h.Kind == hints.Brings { // what it brings has rows of its own
					continue
				}
				text, class := h.String(), map[bool]string{true: "bad", false: "quiet"}[h.Mark]
				i, known := found[text]
				if !known {
					i, found[text] = len(ids), len(ids)
					ids = append(ids, nil)
					p.Rows = append(p.Rows, storyRow{Class: class, Text: text, Task: t.ID})
				}
				ids[i] = append(ids[i], t.ID)
			}
		}
		for i, list := range ids {
			p.Rows[before+i].Word = "task " + texts.Few(list, 10)
		}
	}
	return p
}

// refusedPart lists what gates refused, calls that were denied and what was sent back, by whom and why.
func (r *report) refusedPart() part {
	type told struct {
		at  uint64
		row storyRow
	}
	var list []told
	for _, one := range grouped(r.State.GatesOf(refuses)) {
		list = append(list, told{one.last.First, one.row()})
	}
	type call struct{ member, call, why string }
	times := map[call]int{}
	for _, d := range r.Denied {
		times[call{d.Member, d.Call, d.Why}]++
	}
	for _, d := range slices.Backward(r.Denied) {
		k := call{d.Member, d.Call, d.Why}
		if times[k] == 0 { // a later one stands for it
			continue
		}
		text := fmt.Sprintf("%s of %s, by %s", d.Call, d.Member, d.Why)
		if times[k] > 1 {
			text += fmt.Sprintf(", %d times", times[k])
		}
		times[k] = 0
		list = append(list, told{d.Seq, storyRow{Word: "denied", Class: "bad", Text: text}})
	}
	for _, t := range r.State.Tasks {
		for _, b := range t.Returns {
			if b.Kind == "returned" || b.Kind == "sent back" {
				by := cmp.Or(inbox.AnswererName(b.By), "the merge queue")
				list = append(list, told{b.Seq, storyRow{
					Word: "sent back", Class: "bad", Task: t.ID, Text: fmt.Sprintf("task %s of %s, by %s: %s", t.ID, b.Member, by, strings.TrimPrefix(b.Reason, "a person sent it back: ")),
				}})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b told) int { return cmp.Compare(b.at, a.at) })
	p := part{Title: "Refused", Rest: "covey logs"}
	for _, one := range list {
		p.Rows = append(p.Rows, one.row)
	}
	return p
}

// decidedPart lists what people have decided, the newest first.
func (r *report) decidedPart() part {
	p := part{Title: "People decided", Rest: "covey inbox --all"}
	var back []string
	accepted := map[tasks.MergeState][]string{}
	for _, m := range newestFirst(r.State.Merges) {
		if m.By == actors.Operator && m.State != tasks.MergeReturned { // what was sent back since is below
			accepted[m.State] = append(accepted[m.State], m.Name())
		}
	}
	for _, t := range r.State.Tasks {
		if slices.ContainsFunc(t.Returns, func(b view.Return) bool { return b.Kind == "sent back" && b.By == actors.Operator }) {
			back = append(back, t.ID)
		}
	}
	const most = 5
	for _, state := range slices.Sorted(maps.Keys(accepted)) {
		word, style := termview.MergeWord(state)
		p.Rows = append(p.Rows, storyRow{Word: word, Class: classOf(style), Text: texts.Few(accepted[state], most)})
	}
	if len(back) > 0 {
		p.Rows = append(p.Rows, storyRow{Word: "sent back", Class: "bad", Text: "the work on task " + texts.Few(back, 2*most)})
	}
	for _, q := range slices.Backward(r.State.Requests) {
		switch {
		case q.To != actors.Operator || q.Open() || q.State == requests.Withdrawn:
			continue
		case q.State == requests.Expired:
			yes := map[bool]string{true: "yes", false: "no"}[q.Default]
			p.Rows = append(p.Rows, storyRow{Word: "not answered in time", Class: "wait", Task: q.Task, Text: "counted as " + yes + ": " + q.Text})
			continue
		}
		text := q.Member + ": " + q.Text
		if q.Feedback != "" {
			text += " (" + q.Feedback + ")"
		}
		class := map[bool]string{true: "good", false: "bad"}[q.Approved()]
		p.Rows = append(p.Rows, storyRow{Word: string(q.State), Class: class, Task: q.Task, Text: text})
	}
	return p
}

// newestFirst returns merges, the one that changed last first.
func newestFirst(all []*view.Merge) []*view.Merge {
	return slices.SortedStableFunc(slices.Values(all), func(a, b *view.Merge) int { return b.Updated.Compare(a.Updated) })
}

// mergedPart lists what was merged into which branch, the newest first.
func (r *report) mergedPart() part {
	p := part{Title: "Merged", Rest: "git log"}
	type target struct {
		names []string
		last  *view.Merge
	}
	found := map[string]*target{}
	var order []string
	for _, m := range newestFirst(r.State.Merges) {
		if m.State != tasks.MergeDone {
			continue
		}
		if found[m.Into] == nil {
			found[m.Into] = &target{}
			order = append(order, m.Into)
		}
		one := found[m.Into]
		one.names = append(one.names, m.Name())
		if one.last == nil || m.Updated.After(one.last.Updated) {
			one.last = m
		}
	}
	const most = 5
	for _, into := range order {
		one := found[into]
		p.Rows = append(p.Rows, storyRow{Word: "merged", Class: "good", Text: fmt.Sprintf("%s into %s (%.10s): %s",
			texts.Plural(len(one.names), "piece")+" of work", into, cmp.Or(one.last.Result, one.last.Commit), texts.Few(one.names, most))})
	}
	return p
}

// memberPart lists what each member did.
func (r *report) memberPart() part {
	s, p := r.State, part{Title: "Members", Rest: "covey ps"}
	done := map[string][]string{}
	back := map[string]int{}
	for _, t := range shown(s) {
		if t.Status == tasks.Completed {
			done[t.Owner] = append(done[t.Owner], fmt.Sprintf("%s (%s)", t.ID, t.Subject))
		}
		for _, b := range t.Returns {
			if b.Kind == "returned" || b.Kind == "sent back" {
				back[b.Member]++
			}
		}
	}
	const most = 3
	for _, m := range s.Roster(r.Now != nil) {
		words := []string{m.Agent}
		if m.Lead {
			words[0] += ", the lead"
		}
		if n := len(done[m.Name]); n > 0 {
			words = append(words, texts.Plural(n, "task")+" done: "+texts.Few(done[m.Name], most))
		}
		for _, c := range []struct {
			n    int
			word string
		}{{m.Done.Refusals, "refused"}, {back[m.Name], "sent back"}} {
			if c.n > 0 {
				words = append(words, fmt.Sprintf("%d %s", c.n, c.word))
			}
		}
		if m.Spent.Tokens > 0 {
			words = append(words, fmt.Sprintf("%d tokens, $%.2f", m.Spent.Tokens, m.Spent.CostUSD))
		}
		if text := termview.DeniedText(m.Done.Counts); text != "" {
			words = append(words, text)
		}
		row := storyRow{Text: m.Name + ": " + strings.Join(words, " · ")}
		if m.State == api.NeedsAttention || m.State == api.LoggedOut || m.Left {
			word, style := termview.MemberWord(m)
			row.Word, row.Class = word, classOf(style)
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// refuses reports whether a gate let nobody go on as before.
func refuses(g *view.Gate) bool { return g.Verdict == view.Refused || g.Verdict == view.Halted }

// refusal is what gates have refused for the same reason.
type refusal struct {
	last  *view.Gate
	times int
	turns []int // of the member, each once; empty at merges
}

// took matches how long something took, as tests print it. Reasons that differ in nothing else are
// the same.
var took = texts.Pattern(`\b\d+(?:\.\d+)?m?s\b`)

// grouped puts the refusals of one event, task and member for one reason together.
func grouped(gates []*view.Gate) []*refusal {
	type key struct{ event, task, merge, member, reason string }
	var list []*refusal
	known := map[key]*refusal{}
	for _, g := range gates {
		k := key{g.Event, g.Task, g.Merge, g.Member, took().ReplaceAllString(g.Reason, "")}
		if known[k] == nil {
			known[k] = &refusal{}
			list = append(list, known[k])
		}
		one := known[k]
		one.last, one.times = g, one.times+1
		if g.Turn > 0 && !slices.Contains(one.turns, g.Turn) {
			one.turns = append(one.turns, g.Turn)
		}
	}
	return list
}

// row returns the refusal as a line of the story.
func (o *refusal) row() storyRow {
	g := o.last
	what := g.Event
	switch {
	case g.Merge != "" && g.At == view.AtMerge:
		what = "a merge"
	case g.Task != "":
		what = "task " + g.Task
	}
	if g.Member != "" {
		what += " of " + g.Member
	}
	if len(g.By) > 0 {
		what += ", by " + strings.Join(g.By, ", ")
	}
	word := "refused"
	if g.Verdict == view.Halted {
		word = "stopped"
	}
	return storyRow{Word: word, Class: "bad", Task: g.Task, Text: what + o.often() + ": " + g.Reason}
}

// often returns how often a gate refused for the same reason, and in which turns; empty: once.
func (o *refusal) often() string {
	switch n := len(o.turns); {
	case o.times == 1:
		return ""
	case n == 0:
		return fmt.Sprintf(", %d times", o.times)
	case n == 1:
		return fmt.Sprintf(", %d times in turn %d", o.times, o.turns[0])
	default:
		return fmt.Sprintf(", %d times in %d turns from %d to %d", o.times, n, o.turns[0], o.turns[n-1])
	}
}
