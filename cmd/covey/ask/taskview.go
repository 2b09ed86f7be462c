package ask

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/tasks"
)

// viewTask is a task as --json shows it: lists and metadata that are empty are
// [] and {}, not null.
func viewTask(t tasks.Task) tasks.Task {
	t.Blocks, t.BlockedBy, t.Labels = listed(t.Blocks), listed(t.BlockedBy), listed(t.Labels)
	if t.Metadata == nil {
		t.Metadata = map[string]json.RawMessage{}
	}
	return t
}

// listed is a list that is not null in JSON.
func listed(list []string) []string { return append([]string{}, list...) }

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
	return term.PlainLine(strings.Join(parts, " · ") + " (" + by + ")")
}
