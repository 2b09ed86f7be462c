package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// TaskRow is one task.
type TaskRow struct {
	*view.Task
	Word  string
	Class string
	Gates []*view.Gate // in order
	Waits []string     // ids of open tasks that it waits for
	Merge *view.Merge
	Empty int // turns of its owners that did nothing
}

// rowOf returns the row of a task. w is the Works of s.
func rowOf(s *view.State, w view.Works, t *view.Task) TaskRow {
	one := TaskRow{Task: t, Merge: w.Merges[t.ID], Gates: w.Gates[t.ID], Waits: s.OpenBlockers(t), Empty: w.Empty[t.ID]}
	word, style := termview.TaskWord(t, one.Merge, one.Waits)
	one.Word, one.Class = word, classOf(style)
	return one
}

// shown returns the tasks that are not deleted.
func shown(s *view.State) []*view.Task {
	return slices.DeleteFunc(slices.Clone(s.Tasks), func(t *view.Task) bool { return t.Deleted })
}

// Task is a task with all that a page shows of it. Its parts are drawn by one template each.
type Task struct {
	TaskState
	Form     string             // the token of the forms
	Full     tasks.Task         // with its whole texts
	Question *requests.Request  // the open question about it
	Review   api.Review         // of its newest work
	Rounds   []Round            // its gates, the newest first
	Stored   []requests.Verdict // of gates that the journal's fold has dropped
	Diff     DiffView
	Piece    string // the version of the piece that can be decided about
	Prev     *Piece // the pieces beside it in the queue; nil: none
	Next     *Piece
	Notes    []Note   // comments that go back with the work
	Sent     []Note   // those that went back with it
	Faults   []string // what could not be read
	Unread   []string // likewise, of its work
}

// Comments implements Commented.
func (t *Task) Comments() []Note { return slices.Concat(t.Sent, t.Notes) }

// CanReturn reports whether the work can be sent back to its author.
func (t *Task) CanReturn() bool {
	returned := t.Merge != nil && t.Merge.State == tasks.MergeReturned
	return t.Question != nil || t.Status == tasks.Completed && !returned
}

// TaskState is what the journal says about a task, copied from the State.
type TaskState struct {
	TaskRow
	Up      bool // the team runs
	Author  string
	Present bool // Author is a member now
	Merges  []view.Merge
	Blocked []*tasks.Outline // what it waits for, and whatever waits for it
	Blocks  []*tasks.Outline
	Facts   []hints.Hint // those that the journal knows besides the ones in its work
	Hints   []hints.Hint // what a reviewer should look at first, marks first
	Stamp   string       // changes with whatever the page shows but its changes and its conversation
	Seq     uint64       // the line of the journal up to which this is known
}

// TaskOf copies what a State says about a task. w is the Works of s. up says that the team runs.
func TaskOf(s *view.State, w view.Works, t *view.Task, up bool) TaskState {
	copied := *t
	copied.Owners, copied.Returns, copied.Spans = slices.Clone(t.Owners), slices.Clone(t.Returns), slices.Clone(t.Spans)
	one := TaskState{TaskRow: rowOf(s, w, &copied), Up: up, Author: t.Owner, Seq: s.Seq, Facts: w.Facts(s, t), Hints: w.Hints(s, t)}
	one.Gates = slices.Clone(one.Gates)
	for i, g := range one.Gates {
		c := *g
		c.Hooks = slices.Clone(g.Hooks)
		one.Gates[i] = &c
	}
	for _, m := range s.Merges {
		if slices.Contains(m.Tasks, t.ID) {
			c := *m
			one.Merges = append(one.Merges, c)
			one.Merge, one.Author = &c, m.Member
		}
	}
	m := s.Member(one.Author)
	one.Present = m != nil && !m.Left
	outline := func(t *view.Task) *tasks.Outline {
		return &tasks.Outline{ID: t.ID, Subject: t.Subject, Status: t.Status}
	}
	for _, other := range s.Tasks {
		if !other.Deleted && slices.Contains(t.BlockedBy, other.ID) {
			one.Blocked = append(one.Blocked, outline(other))
		}
		if !other.Deleted && slices.Contains(other.BlockedBy, t.ID) {
			one.Blocks = append(one.Blocks, outline(other))
		}
	}
	one.Stamp = one.stamp(s)
	return one
}

// Marks are the words of what a person should look at first.
func (t *TaskState) Marks() []string { return hints.Words(t.Hints) }

// stamp returns a text that changes with what the page shows.
func (t *TaskState) stamp(s *view.State) string {
	stamp := []any{t.Version, t.Status, t.Awaits, t.Refusals, t.Unchanged, t.Up, t.Present, t.Waits, t.Hints, t.Spent, t.Empty}
	for _, g := range t.Gates {
		stamp = append(stamp, g.ID, g.Last, g.Verdict)
	}
	for _, m := range t.Merges {
		stamp = append(stamp, m.ID, m.Version)
	}
	for _, r := range s.Requests {
		if r.Open() && r.Member == t.Author {
			stamp = append(stamp, r.ID)
		}
	}
	return fmt.Sprint(stamp...)
}

// Changes returns which differences are the work on a task. Without finished work that is all that
// its owner has changed in its own working copy.
func (t *TaskState) Changes() (r merging.DiffRequest, none string) {
	switch {
	case t.Merge != nil:
		return merging.DiffRequest{Task: t.ID}, ""
	case t.Unchanged:
		return r, "No file was changed."
	case t.Status == tasks.InProgress && t.Owner != "":
		return merging.DiffRequest{Member: t.Owner}, ""
	case t.Status == tasks.Completed:
		return r, "covey does not know which changes belong to it: its author works in a shared folder, " +
			"or its work is not taken from its working copy yet."
	}
	return r, "Nobody works on it."
}

// Round is one run of all hooks about a task, with what they said.
type Round struct {
	*view.Gate
	Took time.Duration
	Runs []HookRun
}

// HookRun is one hook of a Round.
type HookRun struct {
	view.HookRun
	Text string // its output, or the first line of it
	Cut  bool   // Text is not all
}

// Rounds returns gates with the outputs of their hooks, the newest first. output returns that of a hook,
// and whether it is cut.
func Rounds(gates []*view.Gate, output func(view.HookRun) (text string, isCut bool)) []Round {
	var list []Round
	for _, g := range slices.Backward(gates) {
		r := Round{Gate: g}
		if !g.Ended.IsZero() {
			r.Took = g.Ended.Sub(g.Started)
		}
		for _, h := range g.Hooks {
			run := HookRun{HookRun: h}
			run.Text, run.Cut = output(h)
			r.Runs = append(r.Runs, run)
		}
		list = append(list, r)
	}
	return list
}

// room counts the bytes that are left for texts in a report, as they become HTML.
type room struct{ left int }

// sizeOf returns about how many bytes a line becomes in a report.
func sizeOf(line string) int {
	const row = 60 // of a table
	size := row + len(line)
	for i := range len(line) {
		if strings.IndexByte(`"'&+<>`, line[i]) >= 0 {
			size += 4
		}
	}
	return size
}

// take returns the whole lines of a text that have room, at most most bytes, and whether lines
// are left out.
func (r *room) take(text string, most int) (string, bool) {
	most = min(most, r.left)
	size, end := 0, 0
	for line := range strings.Lines(text) {
		if size += sizeOf(line); size > most {
			r.left -= most
			return text[:end], true
		}
		end += len(line)
	}
	r.left -= size
	return text, false
}

// tasks returns the tasks that changed last with their history, in the order of their ids, and
// how many have no room.
func (r *report) tasks(l limits) (list []Task, fewer int) {
	w := r.State.Works()
	all := shown(r.State)
	if fewer = max(len(all)-l.Works, 0); fewer > 0 {
		byLast := func(a, b *view.Task) int { return cmp.Compare(b.Last, a.Last) }
		newest := slices.SortedFunc(slices.Values(all), byLast)[:l.Works]
		all = slices.DeleteFunc(all, func(t *view.Task) bool { return !slices.Contains(newest, t) })
	}
	outputs, diffs := &room{l.Outputs}, &room{l.Diffs}
	for _, t := range all {
		one := Task{TaskState: TaskOf(r.State, w, t, r.Now != nil), Full: t.Task}
		one.Rounds = Rounds(one.Gates[max(0, len(one.Gates)-keptGates):], func(h view.HookRun) (string, bool) {
			return outputs.take(term.Plain(cmp.Or(r.Outputs[h.Seq], h.Output)), math.MaxInt)
		})
		if one.Merge != nil {
			r.changes(&one, diffs, l.Diff)
		}
		list = append(list, one)
	}
	return list, fewer
}

// changes adds the differences that the work on a task makes, and the hints about them.
func (r *report) changes(t *Task, room *room, most int) {
	d, ok := r.Diffs[t.Merge.ID]
	switch {
	case !ok:
		t.Diff.None = "They are not known."
		return
	case t.Merge.Tasks[0] != t.ID:
		t.Diff.With = t.Merge.Tasks[0]
		return
	}
	text, isCut := room.take(term.Plain(d.Diff.Text), most)
	work := Work{Task: t.Full, Diff: d.Diff, Fault: d.Fault, Files: hints.ParseDiff(text)}
	t.Diff = NewDiffView(work, t.Hints, Bounds{File: math.MaxInt, All: math.MaxInt})
	t.Diff.Cut = isCut || d.Cut
}
