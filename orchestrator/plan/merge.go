package plan

import (
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// WithUnmerged is a list of tasks in which those whose work is on its way into its
// branch are not done yet, and nobody's: whatever waits for them would begin without
// their work.
func WithUnmerged(all []tasks.Task, merging map[string]bool) []tasks.Task {
	if len(merging) == 0 {
		return all
	}
	list := slices.Clone(all)
	for i := range list {
		if merging[list[i].ID] && list[i].Status == tasks.Completed {
			list[i].Status, list[i].Owner = tasks.InProgress, ""
		}
	}
	return list
}

// unmerged reports whether t is done but for its merge, in a list that WithUnmerged has made:
// no other task is in progress and nobody's.
func unmerged(t tasks.Task) bool { return t.Status == tasks.InProgress && t.Owner == "" }
