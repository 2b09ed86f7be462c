package orchestrator

import (
	"log/slog"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
)

// openTestJournal opens a journal at path for a team called crew. The caller runs it and
// closes it.
func openTestJournal(t *testing.T, path string, store *tasks.Store, happened func(events.Event)) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, journal.Options{
		Team: "crew", Store: store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
		Happened: happened,
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// viewsOf are views that tell line of each line, and look at nothing else.
func viewsOf(line func(events.Line)) journal.Views {
	return journal.Views{Line: line, Stored: func(events.Line) {}, Grew: func(uint64) {}}
}
