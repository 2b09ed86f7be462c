package yaml

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

// TestParseCron: what a crontab takes is taken, and what covey cannot keep is
// refused with a word about it, whatever else stands in the line.
func TestParseCron(t *testing.T) {
	for _, line := range []string{
		"* * * * *", "0 0 1 1 *", "*/15 9-17 * * mon-fri", "0 0 * JAN,jul sun", "59 23 31 12 7", "@hourly", "@daily",
		"@midnight", "@weekly", "@monthly", "@yearly", "@annually", "@every 1m", "@every 36h30m", "0  9 * * *",
		"0 9 * * 5-7", "0 0 * jan-jul/2 TUE-sat", "0 0 * feb-3 5-sat", "0 0 * * sun-3",
	} {
		if _, err := parseCron(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for line, want := range map[string]string{
		"TZ=UTC * * * * *":       "write it under zone",
		"CRON_TZ=UTC * * * * *":  "write it under zone",
		"@every 30s":             "",
		"@every":                 "",
		"@every -5m":             "",
		"@reboot":                "",
		"60 * * * *":             "",
		"* 24 * * *":             "",
		"* * 0 * *":              "",
		"* * * 13 *":             "",
		"* * * * 9":              "",
		"*/0 * * * *":            "",
		"* * * *":                "",
		"0 * * * * *":            "",
		"\x00 * * * *":           "",
		"99999999999999 * * * *": "",
		"0 22-6 * * *":           "22-6 ends before it begins; write two ranges with a comma",
		"0 9 * * 1,fri-mon":      "fri-mon ends before it begins",
		"0 9 * DEC-feb/2 *":      "DEC-feb ends before it begins",
		"30-10 * * * *":          "",
	} {
		if plan, err := parseCron(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", line, plan, err)
		}
	}
}

// TestOnWall holds when the clock on a wall shows a time, over its changes.
func TestOnWall(t *testing.T) {
	for _, test := range []struct{ zone, wall, want string }{
		{"UTC", "2026-11-21 10:00", "2026-11-21T10:00:00Z"},
		{"Europe/Berlin", "2026-07-01 10:00", "2026-07-01T08:00:00Z"},
		{"Europe/Berlin", "2026-03-29 01:59", "2026-03-29T00:59:00Z"},
		{"Europe/Berlin", "2026-03-29 02:30", "2026-03-29T01:30:00Z"}, // there is no such time
		{"Europe/Berlin", "2026-03-29 03:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25 02:30", "2026-10-25T00:30:00Z"}, // the first of two
		{"Europe/Berlin", "2026-10-25 03:00", "2026-10-25T02:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03T15:45:00Z"}, // half an hour is skipped
		{"Pacific/Apia", "2011-12-31 09:00", "2011-12-30T19:00:00Z"},        // after the day that was skipped
		{"Asia/Kathmandu", "2026-01-01 00:00", "2025-12-31T18:15:00Z"},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		wall, err := time.Parse("2006-01-02 15:04", test.wall)
		if err != nil {
			t.Fatal(err)
		}
		if got := onWall(wall, zone).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s in %s is %s, want %s", test.wall, test.zone, got, test.want)
		}
	}
}

// FuzzCron: a line of anybody's is refused, or comes again and again in order; it
// never brings the program down, and never hangs it.
func FuzzCron(f *testing.F) {
	for _, line := range []string{"* * * * *", "@every 90m", "30 2 29 2 mon", "*/7 1-5,9 * */2 *", "TZ=UTC * * * * *", "0 0 31 4 *", "?"} {
		f.Add(line, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, line string, from int64) {
		if len(line) > 200 || from < 0 || from > 4e9 {
			t.Skip()
		}
		at := time.Unix(from, 0)
		for range 3 {
			next, err := NextTime(line, "Europe/Berlin", at)
			if err != nil || next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q after %s comes at %s", line, at, next)
			}
			at = next
		}
	})
}
