package configs

import (
	"strings"
	"testing"
	"time"
)

// TestParseCron: what a crontab takes is taken, and what covey cannot keep is
// refused with a word about it, whatever else stands in the line.
func TestParseCron(t *testing.T) {
	for _, line := range []string{
		"* * * * *", "0 0 1 1 *", "*/15 9-17 * * mon-fri", "0 0 * JAN,jul sun", "59 23 31 12 7", "@hourly", "@daily",
		"@midnight", "@weekly", "@monthly", "@yearly", "@annually", "@every 1m", "@every 36h30m", "0  9 * * *", "0 9 * * fri-mon", // over the end of the week
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
