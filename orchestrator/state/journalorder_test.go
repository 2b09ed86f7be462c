package state

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestJournalTellsThingsInTheirOrder has a member act while the journal is too
// slow to keep up: everything waits for its line when run begins.
func TestJournalTellsThingsInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	store, err := tasks.Open(filepath.Join(dir, "tasks.db"), &tasks.Options{BlobDir: filepath.Join(dir, "blobs")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	path := filepath.Join(dir, "journal.jsonl")
	j, err := OpenJournal(path, options(store))
	if err != nil {
		t.Fatal(err)
	}
	tell := func(data events.Data) { j.Append(events.Event{Member: "ana", Turn: 3, Data: data}) }
	add := func(subject string) {
		t.Helper()
		if _, err := store.Add(t.Context(), actors.Actor{Name: "ana"}, []tasks.New{{Subject: subject}}); err != nil {
			t.Fatal(err)
		}
	}
	tell(events.TurnStarted{Cause: events.ByTask})
	tell(events.ToolCalled{ID: "a"})
	add("one")
	tell(events.ToolReturned{ID: "a"})
	tell(events.ToolCalled{ID: "b"})
	add("two")
	add("three")
	tell(events.ToolReturned{ID: "b"})

	go j.Run(events.TeamStarted{}, unwatched()) // close waits for it
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"team_started", "turn_started", "tool_call", "task", "tool_result", "tool_call", "task", "task", "tool_result",
	}
	var got []events.Line
	for l, err := range ReadJournal(path, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(got), len(want), got)
	}
	for i, l := range got {
		if l.Type != want[i] || l.Seq != uint64(i+1) {
			t.Errorf("line %d is %s with seq %d, want %s", i+1, l.Type, l.Seq, want[i])
		}
		if i > 0 && l.Time.Before(got[i-1].Time) {
			t.Errorf("line %d (%s) is of %s, before line %d of %s", i+1, l.Type, l.Time, i, got[i-1].Time)
		}
		if i > 0 && l.Turn != 3 {
			t.Errorf("line %d (%s) is of turn %d, want 3", i+1, l.Type, l.Turn)
		}
	}
}
