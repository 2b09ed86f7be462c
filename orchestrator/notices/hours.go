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
	local := now.Round(0).In(zone)
	clock := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute +
		time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
	if inside(h, clock) {
		return now
	}
	// By the calendar, because a day may have 23 hours. A time that the change to summer time
	// skips becomes the one right after it; of one that comes twice, either may be meant.
	next := time.Date(local.Year(), local.Month(), local.Day(), 0, int(h.From/time.Minute), 0, 0, zone)
	if !next.After(local) {
		next = time.Date(local.Year(), local.Month(), local.Day()+1, 0, int(h.From/time.Minute), 0, 0, zone)
	}
	return next
}

// inside reports whether a time of the day lies in the hours.
func inside(h yaml.Hours, clock time.Duration) bool {
	if h.From < h.To {
		return h.From <= clock && clock < h.To
	}
	return clock >= h.From || clock < h.To
}
