package view

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
)

// Hints returns what a reviewer should look at first in a task, marks first: what was found in its
// newest work, and what the journal knows besides.
func (w Works) Hints(s *State, t *Task) []hints.Hint {
	var list []hints.Hint
	if m := w.Merges[t.ID]; m != nil {
		list = slices.Clone(m.Hints)
	}
	list = append(list, w.Facts(s, t)...)
	hints.Sort(list)
	return list
}

// Facts returns the hints that do not depend on the changes: what the journal knows of a task.
func (w Works) Facts(s *State, t *Task) []hints.Hint {
	var list []hints.Hint
	add := func(kind hints.Kind, mark bool, word, text string) {
		list = append(list, hints.Hint{Kind: kind, Mark: mark, Word: word, Text: text})
	}
	if t.Status == tasks.Completed && t.Unchanged {
		add("nothing-changed", false, "nothing changed", "It was completed without a change to a file.")
	}
	agreed, open := false, map[string]bool{}
	for _, g := range w.Gates[t.ID] {
		if g.Task != t.ID || g.Event != "TaskCompleted" {
			continue
		}
		agreed = agreed || g.Verdict == Agreed
		for _, h := range g.Hooks {
			open[h.Command] = h.FailedOpen
		}
	}
	if s.Gated && t.Status == tasks.Completed && !agreed && s.Dropped.Gates == 0 {
		add("no-gate-agreed", true, "no gate agreed", "No gate has agreed to its completion.")
	}
	for command, failed := range open {
		if failed {
			add("hook-failed", true, "hook failed", "A hook could not judge it and was passed over: "+texts.Short(texts.OneLine(command), texts.LineWidth))
		}
	}
	slices.SortStableFunc(list, func(a, b hints.Hint) int { return strings.Compare(a.Text, b.Text) })
	if upon := uponReturned(s, w.Merges[t.ID], t.ID); upon != "" {
		add("builds-on-returned", true, "builds on returned work",
			"It builds on work that is back with its author; merging it merges that, too: "+upon)
	}
	return list
}

// uponReturned names the returned work, if any, that the commits of a task's own work contain.
func uponReturned(s *State, own *Merge, id string) string {
	if own == nil || own.State.Over() {
		return ""
	}
	from := own.From
	for _, m := range slices.Backward(s.Merges) {
		if m.Commit != from || m == own || m.State == tasks.MergeDone {
			continue
		}
		if m.State == tasks.MergeReturned && m.Fix != id {
			return m.Name()
		}
		from = m.From
	}
	return ""
}
