package tasks

import (
	"errors"
	"testing"
)

// TestCharge: what tasks cost is divided without loss, survives changes and a restart, and is
// no change of a task: no version, no event. So does the mark of a task that changed no file.
func TestCharge(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	for range 3 {
		add(t, s, New{})
	}
	claim(t, s, "1", "ann")
	drain(t, s)
	version := get(t, s, "1").Version
	charge := func(c Cost, ids ...string) {
		t.Helper()
		if err := Charge(t.Context(), s, ids, c); err != nil {
			t.Fatal(err)
		}
	}
	charge(Cost{Tokens: 100, FailedTokens: 7, USD: 0.5}, "1", "3", "3", "99")
	charge(Cost{Tokens: 11}, "1", "2", "3")
	charge(Cost{Tokens: 11}, "99")
	if have := get(t, s, "1").Version; have != version {
		t.Errorf("version %d became %d", version, have)
	}
	if events := drain(t, s); len(events) > 0 {
		t.Errorf("events %+v", events)
	}
	setStatus(t, s, "1", Completed)
	version = get(t, s, "1").Version
	drain(t, s)
	for _, m := range []struct {
		id      string
		version uint64
		want    bool
	}{{"1", version - 1, false}, {"1", version, true}, {"1", version, false}, {"2", get(t, s, "2").Version, false}} {
		if marked, err := MarkUnchanged(t.Context(), s, m.id, m.version); err != nil || marked != m.want {
			t.Errorf("task %s at version %d: %t, %v", m.id, m.version, marked, err)
		}
	}
	if _, err := MarkUnchanged(t.Context(), s, "99", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
	if events := drain(t, s); len(events) > 0 || get(t, s, "1").Version != version {
		t.Errorf("events %+v", events)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	want := []Cost{
		{Tokens: 53, FailedTokens: 3, USD: 0.25}, {Tokens: 4}, {Tokens: 54, FailedTokens: 4, USD: 0.25},
	}
	lines, err := s.Outline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range lines {
		if o.Unchanged != (o.ID == "1") || get(t, s, o.ID).Unchanged != o.Unchanged {
			t.Errorf("task %s: unchanged %t", o.ID, o.Unchanged)
		}
		if o.Cost != want[i] || get(t, s, o.ID).Cost != want[i] {
			t.Errorf("task %s: %+v and %+v, want %+v", o.ID, o.Cost, get(t, s, o.ID).Cost, want[i])
		}
	}
	if setStatus(t, s, "1", Pending); get(t, s, "1").Unchanged {
		t.Error("an open task counts as completed without a change")
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
