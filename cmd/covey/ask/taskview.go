package ask

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/tasks"
)

// viewTask returns a task as --json prints it: empty lists and metadata are [] and
// {}, not null.
func viewTask(t tasks.Task) tasks.Task {
	t.Blocks, t.BlockedBy, t.Labels = notNil(t.Blocks), notNil(t.BlockedBy), notNil(t.Labels)
	if t.Metadata == nil {
		t.Metadata = map[string]json.RawMessage{}
	}
	return t
}

// notNil returns a list that is not null in JSON.
func notNil(list []string) []string { return append([]string{}, list...) }

// taskViews applies viewTask to a list. The result is never nil, so that it encodes
// as [].
func taskViews(list []tasks.Task) []tasks.Task {
	views := make([]tasks.Task, 0, len(list))
	for _, t := range list {
		views = append(views, viewTask(t))
	}
	return views
}

// tokensOf formats the tokens that a task has used; empty: none.
func tokensOf(c tasks.Cost) string {
	switch {
	case c.Tokens == 0:
		return ""
	case c.FailedTokens > 0:
		return fmt.Sprintf("%d (%d failed)", c.Tokens, c.FailedTokens)
	}
	return fmt.Sprint(c.Tokens)
}

// sortedKeys returns a map's keys in order.
func sortedKeys(m map[string]json.RawMessage) []string {
	return slices.Sorted(maps.Keys(m))
}

// evidenceLine formats a piece of evidence in one line, with its author.
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
