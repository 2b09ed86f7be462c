package tasks

import "slices"

// These functions work on a list of tasks in the order of their ids.

// Ready reports whether a task can start: it is pending, and its blockers are
// completed.
func Ready(t *Task, all []Task) bool {
	return t.Status == Pending && !slices.ContainsFunc(t.BlockedBy, func(id string) bool {
		i, ok := Find(all, id)
		return ok && all[i].Status != Completed
	})
}

// OpenBlockers returns the tasks that t waits for, in list order.
func OpenBlockers(t Task, all []Task) []Task {
	var places []int
	for _, id := range t.BlockedBy {
		if i, ok := Find(all, id); ok && all[i].Status != Completed {
			places = append(places, i)
		}
	}
	slices.Sort(places)
	var by []Task
	for _, i := range slices.Compact(places) {
		by = append(by, all[i])
	}
	return by
}

// OpenTasks lists the tasks that are not completed.
func OpenTasks(all []Task) []Task {
	var open []Task
	for _, t := range all {
		if t.Status != Completed {
			open = append(open, t)
		}
	}
	return open
}

// NamesOf is Named for a list of tasks.
func NamesOf(list []Task) string {
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	return Named(ids...)
}
