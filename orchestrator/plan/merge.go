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
			list[i] = asUnmerged(list[i])
		}
	}
	return list
}

// asUnmerged returns a completed task as it is listed while its work is being merged.
func asUnmerged(t tasks.Task) tasks.Task {
	t.Status, t.Owner = tasks.InProgress, ""
	return t
}

// unmerged reports whether t is completed except for its merge, in a list of
// WithUnmerged. No other task is in progress without an owner.
func unmerged(t *tasks.Task) bool { return t.Status == tasks.InProgress && t.Owner == "" }
