package notices

import (
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// opening returns the next time from now on that lies in the hours; now itself if it does. In
// a zone that does not exist on this machine, the machine's own applies.
func opening(h yaml.Hours, now time.Time) time.Time {
	if h.From == h.To {
		return now
	}
	zone := time.Local
	if h.Zone != "" {
		if known, err := time.LoadLocation(h.Zone); err == nil {
			zone = known
		}
	}
	if inside(h, clockOf(now.In(zone))) {
		return now
	}
	// Each minute is tried, because on a day on which clocks change a time may be skipped or
	// come twice. Hours that are skipped as a whole open on the day after.
	next := now.Round(0).Truncate(time.Minute)
	for !next.After(now) || !inside(h, clockOf(next.In(zone))) {
		next = next.Add(time.Minute)
	}
	return next
}

// clockOf returns the time of the day that a clock on the wall shows, 0 to 24 h.
func clockOf(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}

// inside reports whether a time of the day lies in the hours.
func inside(h yaml.Hours, clock time.Duration) bool {
	if h.From < h.To {
		return h.From <= clock && clock < h.To
	}
	return clock >= h.From || clock < h.To
}
