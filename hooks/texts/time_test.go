package texts

import (
	"testing"
	"time"
)

func TestShortTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC) // a Saturday
	east := time.FixedZone("east", 2*3600)
	for want, at := range map[string]time.Time{
		"23:45":            now.Add(15 * time.Minute),
		"Sun 00:15":        now.Add(45 * time.Minute),
		"Fri 23:30":        now.AddDate(0, 0, 6),
		"2026-11-28 23:30": now.AddDate(0, 0, 7),
		"2026-11-20 23:30": now.AddDate(0, 0, -1),
		"02:00":            now.Add(30 * time.Minute).In(east), // where it is Sunday already
	} {
		if got := ShortTime(at, now); got != want {
			t.Errorf("ShortTime(%v) = %q, want %q", at, got, want)
		}
	}
}
