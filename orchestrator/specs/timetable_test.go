package specs

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestDueBy: when schedules run, and from which time on the next run is looked for.
func TestDueBy(t *testing.T) {
	at := func(clock string) time.Time {
		got, err := time.Parse("2006-01-02 15:04:05", "2026-11-"+clock)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	tests := []struct{ name, cron, from, now, due, rest string }{
		{"not yet", "0 * * * *", "21 10:00:00", "21 10:59:59", "", "21 10:00:00"},
		{"now", "0 * * * *", "21 10:00:00", "21 11:00:00", "21 11:00:00", "21 11:00:00"},
		{"a little late", "0 * * * *", "21 10:00:00", "21 11:20:00", "21 11:00:00", "21 11:00:00"},
		{"missed thrice comes once", "0 * * * *", "21 10:00:00", "21 13:20:00", "21 11:00:00", "21 13:20:00"},
		{"every keeps its beat", "@every 90m", "21 10:00:00", "21 11:31:00", "21 11:30:00", "21 11:30:00"},
		{"the clock went back an hour", "0 * * * *", "21 12:00:00", "21 11:10:00", "", "21 12:00:00"},
		{"the clock was days ahead", "0 * * * *", "28 12:00:00", "21 11:10:00", "", "21 11:10:00"},
		{"never", "0 0 31 11 *", "21 10:00:00", "29 10:00:00", "", "21 10:00:00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			due, rest, err := dueBy(configs.Schedule{Cron: test.cron}, at(test.from), at(test.now))
			if err != nil {
				t.Fatal(err)
			}
			var want time.Time
			if test.due != "" {
				want = at(test.due)
			}
			if !due.Equal(want) || !rest.Equal(at(test.rest)) {
				t.Errorf("due %s, rest %s", due, rest)
			}
		})
	}
}

// TestDueByIsPatient: however often dueBy is called, each time leads to one run, and
// never before it is due.
func TestDueByIsPatient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := configs.Schedule{Cron: rapid.SampledFrom([]string{"*/7 * * * *", "0 3 * * *", "@every 11m", "30 * * * 1"}).Draw(t, "cron")}
		now := time.Unix(1_800_000_000, 0).UTC()
		from, last := now, time.Time{}
		for range 50 {
			now = now.Add(time.Duration(rapid.Int64Range(1, 5*int64(time.Hour)).Draw(t, "sleep")))
			due, rest, err := dueBy(s, from, now)
			if err != nil || due.After(now) || rest.After(now) || rest.Before(from) {
				t.Fatalf("due %s, rest %s at %s: %v", due, rest, now, err)
			}
			if again, _, _ := dueBy(s, rest, now); !again.IsZero() {
				t.Fatalf("at %s it comes at %s and again at %s", now, due, again)
			}
			if !due.IsZero() && !due.After(last) {
				t.Fatalf("%s comes after %s", due, last)
			}
			if !due.IsZero() {
				last = due
			}
			from = rest
		}
	})
}

// TestScheduleCrash: a crash between a task and its record makes no second task.
func TestScheduleCrash(t *testing.T) {
	store, err := tasks.Open(t.TempDir()+"/tasks.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := configs.Schedule{Name: "n", Cron: "@hourly", Task: &configs.Task{Subject: "Look"}}
	table := NewTimetable(store, nil, members.Clock{}, members.NewLoop(nil))
	for range 2 { // the second knows nothing of the first
		if id, skipped, err := table.makeTask(t.Context(), s, "", actors.CallID("schedule", "n 1")); id != "1" || skipped != "" || err != nil {
			t.Errorf("made %q, %q, %v", id, skipped, err)
		}
	}
	if all, err := store.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("tasks %+v, %v", all, err)
	}
}
