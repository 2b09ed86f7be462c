package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
)

// mergeOf is the piece of work that a line of type merge tells of.
func mergeOf(l journal.Line) (m tasks.Merge, ok bool) {
	return m, l.Type == "merge" && json.Unmarshal(l.Data, &m) == nil
}

// mergeText tells how far a piece of finished work has come.
func mergeText(m tasks.Merge) (string, style) {
	work := m.Name()
	switch m.State {
	case tasks.MergeWaiting:
		return work + " can be merged into " + m.Into + ": covey review " + m.Subject() + ", then covey merge " + m.Subject(), normal
	case tasks.MergeQueued:
		return work + " is queued to be merged into " + m.Into + because(m), faint
	case tasks.MergeTesting:
		return work + " is being tested on top of " + m.Into, faint
	case tasks.MergeLanding:
		return work + " is tested; " + m.Into + " moves to it now", faint
	case tasks.MergeHeld:
		return work + " is held" + because(m), yellow
	}
	return work + " is " + mergeState(m) + because(m), mergeStyle(m.State)
}

// because is why a merge stands as it does.
func because(m tasks.Merge) string {
	if m.Reason == "" {
		return ""
	}
	return ": " + m.Reason
}

// mergedAs is the commit by which a branch holds a piece of work.
func mergedAs(m tasks.Merge) string { return fmt.Sprintf("%.10s", cmp.Or(m.Result, m.Commit)) }
