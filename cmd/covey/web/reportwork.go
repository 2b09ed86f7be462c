package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/review"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/view"
)

// taskReport is a task with its history.
type taskReport struct {
	taskRow
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
	Files []diffFile
	With  string // the task at which the same differences are shown
	Left  bool
	Fault string
}

// diffFile is the changes of one file.
type diffFile struct {
	Name         string
	Added, Taken int
	Notes        []string // what became of it besides changed lines
	Parts        []diffPart
}

// diffPart is a row of lines of one kind: add, del, hunk or nothing.
type diffPart struct{ Class, Text string }

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
		one := taskReport{taskRow: w.rowOf(r.State, t), Empty: w.empty[t.ID]}
		for _, g := range one.Gates {
			for _, h := range g.Hooks {
				v := verdictRow{HookRun: h, Gate: g, Verdict: verdictOf(h)}
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

// verdictOf returns what one hook has decided.
func verdictOf(h view.HookRun) view.Verdict {
	switch {
	case h.Seq == 0 && !h.Reused:
		return view.Judging
	case h.Outcome == "blocking":
		return view.Refused
	case h.Outcome == "await":
		return view.Awaits
	case h.Outcome == "cancelled":
		return view.Cut
	}
	return view.Agreed
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
	return &diffShown{Files: diffFiles(text), Left: left || d.Left, Fault: d.Fault}
}

// diffFiles returns the output of git diff as files with rows of equal lines.
func diffFiles(text string) []diffFile {
	var files []diffFile
	for _, f := range review.ParseDiff(text) {
		one := diffFile{Name: f.Name, Added: f.Added, Taken: f.Removed}
		for what, said := range map[string]bool{
			string(f.What): f.What != review.Changed, "from " + f.Old: f.What == review.Renamed || f.What == review.Copied,
			"mode " + f.Modes: f.Modes != "", "binary": f.Binary,
		} {
			if said {
				one.Notes = append(one.Notes, what)
			}
		}
		slices.Sort(one.Notes)
		for _, h := range f.Hunks {
			one.add("hunk", strings.TrimSuffix(fmt.Sprintf("@@ -%d +%d @@ %s", h.Old, h.New, h.Section), " ")+"\n")
			for _, l := range h.Lines {
				one.add(map[byte]string{'+': "add", '-': "del"}[l.Kind], string(l.Kind)+l.Text+"\n")
			}
		}
		files = append(files, one)
	}
	return files
}

// add adds a line to the last part if it is of the same kind.
func (f *diffFile) add(class, line string) {
	if n := len(f.Parts); n > 0 && f.Parts[n-1].Class == class && class != "hunk" {
		f.Parts[n-1].Text += line
		return
	}
	f.Parts = append(f.Parts, diffPart{class, line})
}
