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
		if m.Forced {
			return work + " is merged" + forced(m) + "; " + m.Into + " moves to it now", term.Faint
		}
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
		return fmt.Sprintf("merged into %s as %s", m.Into, mergedAs(m)) + forced(m)
	case tasks.MergeReturned:
		return sentBack + ", and goes on as task " + m.Fix
	case tasks.MergeReady:
		return "ready for a pull request into " + m.Into + forced(m)
	}
	word, _ := MergeWord(m.State)
	return word
}

// forced tells that the operator has overridden the gates.
func forced(m tasks.Merge) string {
	if m.Forced {
		return " without asking its gates (--force)"
	}
	return ""
}

// MergeWord returns what became of finished work in a word or two.
func MergeWord(s tasks.MergeState) (string, term.Style) {
	switch s {
	case tasks.MergeReturned:
		return sentBack, term.Red
	case tasks.MergeWaiting:
		return "to merge", term.Yellow
	case tasks.MergeHeld:
		return "held", term.Yellow
	case tasks.MergeReady:
		return "ready for a pull request", term.Yellow
	case tasks.MergeDone:
		return "merged", term.Green
	case tasks.MergeDropped:
		return "nothing to merge", term.Faint
	}
	return string(s), term.Cyan
}

// MergeStyle returns the style of MergeWord.
func MergeStyle(s tasks.MergeState) term.Style {
	_, style := MergeWord(s)
	return style
}
