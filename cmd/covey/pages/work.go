package pages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/view"
)

// taskReport is a task with its history.
type taskReport struct {
	TaskRow
	Empty    int
	Verdicts []verdictRow
	Diff     *diffShown // nil: nothing is finished, or there is no repository
}

// verdictRow is one hook of a gate.
type verdictRow struct {
	view.HookRun
	Gate    *view.Gate
	Verdict view.Verdict
	Printed string
	Left    bool // Printed is cut
}

// diffShown is what a piece of work has changed, file by file.
type diffShown struct {
	Files []FileRows
	With  string // the task at which the same differences are shown
	Left  bool
	Fault string
}

// room counts the bytes that are left for texts, as they become HTML.
type room struct{ left int }

// take returns the whole lines of a text that have room, at most most bytes, and whether lines
// are left out.
func (r *room) take(text string, most int) (string, bool) {
	most = min(most, r.left)
	size := 0
	for i := range len(text) {
		switch text[i] {
		case '"', '\'', '&', '+', '<', '>':
			size += 5
		case '\n':
			size += 8 // lines of different kinds are elements
		default:
			size++
		}
		if size > most {
			r.left -= most
			return text[:strings.LastIndexByte(text[:i+1], '\n')+1], true
		}
	}
	r.left -= size
	return text, false
}

// works returns the tasks that changed last with their history, in the order of their ids, and
// how many have no room.
func (r *report) works(l limits) (list []taskReport, fewer int) {
	w := newWorks(r.State)
	all := shown(r.State)
	if fewer = max(len(all)-l.Works, 0); fewer > 0 {
		byLast := func(a, b *view.Task) int { return cmp.Compare(b.Last, a.Last) }
		newest := slices.SortedFunc(slices.Values(all), byLast)[:l.Works]
		all = slices.DeleteFunc(all, func(t *view.Task) bool { return !slices.Contains(newest, t) })
	}
	outputs, diffs := &room{l.Outputs}, &room{l.Diffs}
	for _, t := range all {
		one := taskReport{TaskRow: rowOf(r.State, w.Works, t), Empty: w.empty[t.ID]}
		for _, g := range one.Gates {
			for _, h := range g.Hooks {
				v := verdictRow{HookRun: h, Gate: g, Verdict: h.Verdict()}
				v.Printed, v.Left = outputs.take(term.Plain(r.Outputs[h.Seq]), l.Output)
				one.Verdicts = append(one.Verdicts, v)
			}
		}
		if one.Merge != nil {
			one.Diff = r.diff(one.Merge, t.ID, diffs, l.Diff)
		}
		list = append(list, one)
	}
	return list, fewer
}

// diff returns the differences of a merge for one of its tasks.
func (r *report) diff(m *view.Merge, task string, room *room, most int) *diffShown {
	d, ok := r.Diffs[m.ID]
	switch {
	case !ok:
		return nil
	case m.Tasks[0] != task:
		return &diffShown{With: m.Tasks[0]}
	}
	text, left := room.take(term.Plain(d.Text), most)
	return &diffShown{Files: RowsOf(text), Left: left || d.Left, Fault: d.Fault}
}
