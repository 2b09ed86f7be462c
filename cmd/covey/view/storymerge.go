package view

import (
	"cmp"
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/tasks"
)

// mergeText describes how far finished work has come.
func mergeText(m tasks.Merge) (string, term.Style) {
	work := m.Name()
	switch m.State {
	case tasks.MergeWaiting:
		return work + " can be merged into " + m.Into + ": covey review " + m.Subject() + ", then covey merge " + m.Subject(), term.Normal
	case tasks.MergeQueued:
		return work + " is queued to be merged into " + m.Into + Because(m), term.Faint
	case tasks.MergeTesting:
		return work + " is being tested on top of " + m.Into, term.Faint
	case tasks.MergeLanding:
		return work + " is tested; " + m.Into + " moves to it now", term.Faint
	case tasks.MergeHeld:
		return work + " is held" + Because(m), term.Yellow
	}
	return work + " is " + MergeState(m) + Because(m), MergeStyle(m.State)
}

// Because formats the reason for the state of a merge.
func Because(m tasks.Merge) string {
	if m.Reason == "" {
		return ""
	}
	return ": " + m.Reason
}

// mergedAs returns the commit by which a branch contains the work.
func mergedAs(m tasks.Merge) string { return fmt.Sprintf("%.10s", cmp.Or(m.Result, m.Commit)) }

// MergeState describes a merge's state with its details.
func MergeState(m tasks.Merge) string {
	switch m.State {
	case tasks.MergeDone:
		return fmt.Sprintf("merged into %s as %s", m.Into, mergedAs(m))
	case tasks.MergeReturned:
		return fmt.Sprintf("back with its author as task %s", m.Fix)
	case tasks.MergeReady:
		return "ready for a pull request into " + m.Into
	}
	return string(m.State)
}

// MergeStyle highlights states that need a look.
func MergeStyle(s tasks.MergeState) term.Style {
	switch s {
	case tasks.MergeHeld, tasks.MergeReturned:
		return term.Red
	case tasks.MergeWaiting, tasks.MergeReady:
		return term.Yellow
	case tasks.MergeDone:
		return term.Green
	}
	return term.Normal
}
