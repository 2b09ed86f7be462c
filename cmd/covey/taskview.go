package main

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// viewTask is a task as --json shows it: lists and metadata that are empty are
// [] and {}, not null.
func viewTask(t tasks.Task) tasks.Task {
	t.Blocks, t.BlockedBy, t.Labels = notNil(t.Blocks), notNil(t.BlockedBy), notNil(t.Labels)
	if t.Metadata == nil {
		t.Metadata = map[string]json.RawMessage{}
	}
	return t
}

// taskViews is viewTask of each. The list is never nil, so that JSON has [] for
// no tasks.
func taskViews(list []tasks.Task) []tasks.Task {
	views := make([]tasks.Task, 0, len(list))
	for _, t := range list {
		views = append(views, viewTask(t))
	}
	return views
}

// sortedKeys are a map's keys in order.
func sortedKeys(m map[string]json.RawMessage) []string {
	return slices.Sorted(maps.Keys(m))
}
