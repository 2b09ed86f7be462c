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
		list = m.Hints
	}
	return hints.Join(list, w.Facts(s, t))
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
	if own := w.Merges[t.ID]; own != nil {
		var brings []tasks.Merge
		for _, id := range own.Brings {
			if m := s.Merge(id); m != nil {
				brings = append(brings, m.Merge)
			}
		}
		if h, ok := UponReturned(own.Merge, brings); ok {
			list = append(list, h)
		}
	}
	return list
}

// UponReturned returns the hint that a piece of work builds on work that is back with its author, if it does.
// brings is the other work that its merge brings.
func UponReturned(own tasks.Merge, brings []tasks.Merge) (hints.Hint, bool) {
	refused := false
	var names []string
	for _, m := range brings {
		if m.State == tasks.MergeReturned && !Repaired(m, own, brings) {
			names = append(names, m.Authored())
			refused = refused || m.Refused
		}
	}
	if own.State.Over() || len(names) == 0 {
		return hints.Hint{}, false
	}
	then := "Its merge brings that, too."
	if refused {
		then = "It is not merged before that is revised and merged."
	}
	return hints.Hint{Kind: hints.UponReturned, Mark: true, Word: "builds on returned work",
		Text: "It builds on work that was sent back: " + texts.Few(names, 10) + ". " + then}, true
}

// Repaired reports whether a piece of work that is back with its author is revised by another one, own, or by other work that
// the merge of that one brings.
func Repaired(p, own tasks.Merge, brings []tasks.Merge) bool {
	fixes := func(o tasks.Merge) bool { return slices.Contains(o.Tasks, p.Fix) }
	return p.State == tasks.MergeReturned && p.Fix != "" && (fixes(own) || slices.ContainsFunc(brings, fixes))
}
