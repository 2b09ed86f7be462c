package journal

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate/agent"
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
	j, err := Open(path, options(store))
	if err != nil {
		t.Fatal(err)
	}
	tell := func(data agent.EventData) { j.Append(agent.Event{Member: "ana", Turn: 3, Data: data}) }
	add := func(subject string) {
		t.Helper()
		if _, err := store.Add(t.Context(), actors.Actor{Name: "ana"}, []tasks.New{{Subject: subject}}); err != nil {
			t.Fatal(err)
		}
	}
	tell(agent.TurnStarted{Cause: agent.ByTask})
	tell(agent.ToolCalled{ID: "a"})
	add("one")
	tell(agent.ToolReturned{ID: "a"})
	tell(agent.ToolCalled{ID: "b"})
	add("two")
	add("three")
	tell(agent.ToolReturned{ID: "b"})

	go j.Run(TeamStarted{}, unwatched()) // close waits for it
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"team_started", "turn_started", "tool_call", "task", "tool_result", "tool_call", "task", "task", "tool_result",
	}
	var got []Line
	for l, err := range Read(path, 0) {
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
