package configs

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestScheduleNext holds when schedules come, over changes of the clock too.
func TestScheduleNext(t *testing.T) {
	tests := []struct{ name, cron, zone, after, want string }{
		{"a minute later", "* * * * *", "UTC", "2026-11-21T10:00:30Z", "2026-11-21T10:01:00Z"},
		{"not the same minute again", "0 10 * * *", "UTC", "2026-11-21T10:00:00Z", "2026-11-22T10:00:00Z"},
		{"working days", "30 7 * * 1-5", "Europe/Berlin", "2026-11-20T08:00:00Z", "2026-11-23T06:30:00Z"},
		{"either day will do", "0 0 1 * 1", "UTC", "2026-11-21T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"sunday is 7 too", "0 0 * * 7", "UTC", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"a word", "@weekly", "UTC", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"every", "@every 90m", "UTC", "2026-11-21T00:00:00Z", "2026-11-21T01:30:00Z"},
		{"leap day", "0 0 29 2 *", "UTC", "2026-11-21T00:00:00Z", "2028-02-29T00:00:00Z"},
		// Berlin: 2026-03-29 02:00 becomes 03:00, 2026-10-25 03:00 becomes 02:00.
		{"a skipped time comes after the change", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"and the next day as ever", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		{"a repeated time comes once", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"every hour comes in both", "30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"a day that midnight skips", "0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			after, err := time.Parse(time.RFC3339, test.after)
			if err != nil {
				t.Fatal(err)
			}
			got, err := NextTime(test.cron, test.zone, after)
			if err != nil || got.UTC().Format(time.RFC3339) != test.want {
				t.Errorf("%s in %s after %s: %s, %v; want %s", test.cron, test.zone, test.after,
					got.UTC().Format(time.RFC3339), err, test.want)
			}
		})
	}
}

func TestScheduleNextFails(t *testing.T) {
	for _, s := range []struct{ cron, zone string }{{"", ""}, {"x", ""}, {"@never", ""}, {"@daily", "Mars/Olympus"},
		{"* * * * * *", ""}, {strings.Repeat("9", 5000), ""}} {
		if next, err := NextTime(s.cron, s.zone, time.Now()); err == nil {
			t.Errorf("%+v comes at %s", s, next)
		}
	}
	if next, err := NextTime("0 0 31 4 *", "", time.Now()); err != nil || !next.IsZero() {
		t.Errorf("the 31st of April: %s, %v", next, err)
	}
}

// TestScheduleGoesOn: whatever the schedule, each time lies after the one before,
// and a fixed time of the day comes no more than once a day.
func TestScheduleGoesOn(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		s := struct{ Cron, Zone string }{
			Cron: rapid.StringMatching(`([0-9]|[1-5][0-9]|\*/[1-9]) ([0-9]|1[0-9]|2[0-3]) \* \* (\*|[0-6])`).Draw(t, "cron"),
			Zone: rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		at := time.Unix(rapid.Int64Range(1.7e9, 1.9e9).Draw(t, "from"), 0)
		fixed := !strings.HasPrefix(s.Cron, "*")
		seen := map[string]bool{}
		for range 40 {
			next, err := NextTime(s.Cron, s.Zone, at)
			if err != nil || !next.After(at) {
				t.Fatalf("%+v after %s: %s, %v", s, at, next, err)
			}
			if day := next.Format(time.DateOnly); fixed && seen[day] {
				t.Fatalf("%+v comes twice on %s", s, day)
			} else {
				seen[day] = true
			}
			at = next
		}
	})
}
