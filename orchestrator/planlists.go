package orchestrator

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/tasks"
)

// What plan, and texts for people, read off a list of tasks.

// actable lists the tasks that a member owns and could work on now.
func actable(all []tasks.Task, member string) []tasks.Task {
	var own []tasks.Task
	for i := range all {
		if t := &all[i]; t.Owner == member && (t.Status == tasks.InProgress || ready(t, all)) {
			own = append(own, *t)
		}
	}
	return own
}

// ready reports whether a task waits for nothing but somebody to do it.
func ready(t *tasks.Task, all []tasks.Task) bool {
	return t.Status == tasks.Pending && !slices.ContainsFunc(t.BlockedBy, func(id string) bool {
		i, ok := tasks.Find(all, id)
		return ok && all[i].Status != tasks.Completed
	})
}

// openBlockers lists the tasks that t waits for, in list order.
func openBlockers(t tasks.Task, all []tasks.Task) []tasks.Task {
	var places []int
	for _, id := range t.BlockedBy {
		if i, ok := tasks.Find(all, id); ok && all[i].Status != tasks.Completed {
			places = append(places, i)
		}
	}
	slices.Sort(places)
	var by []tasks.Task
	for _, i := range slices.Compact(places) {
		by = append(by, all[i])
	}
	return by
}

// openTasks lists the tasks that are not completed.
func openTasks(all []tasks.Task) []tasks.Task {
	var open []tasks.Task
	for _, t := range all {
		if t.Status != tasks.Completed {
			open = append(open, t)
		}
	}
	return open
}

// fingerprint tells two states of the same tasks apart.
// By version and not by content: what was changed and changed back was touched.
func fingerprint(list []tasks.Task) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.ID + "." + strconv.FormatUint(t.Version, 10) + " ")
	}
	return b.String()
}

// taskNames lists tasks in a sentence: "task 1", "tasks 1, 2 and 3".
func taskNames(list []tasks.Task) string {
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	return tasks.Named(ids...)
}
