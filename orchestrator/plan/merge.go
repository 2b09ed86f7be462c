package plan

import (
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// WithUnmerged returns a list of tasks in which those that are being merged are
// in progress and have no owner, because tasks that they block would begin
// without their work.
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

// unmerged reports whether t is completed except for its merge, in a list of
// WithUnmerged. No other task is in progress without an owner.
func unmerged(t tasks.Task) bool { return t.Status == tasks.InProgress && t.Owner == "" }
