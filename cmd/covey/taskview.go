package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

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

// evidenceLine is a piece of evidence in one line, with who gave it.
func evidenceLine(e tasks.Evidence) string {
	parts := []string{e.Text, e.File}
	if e.Text == "" || e.File == "" {
		parts = []string{e.Text + e.File}
	}
	by := e.By
	if by == "" {
		by = "covey"
	}
	return plainLine(strings.Join(parts, " · ") + " (" + by + ")")
}
