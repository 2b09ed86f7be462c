package configs

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// leastEvery is the shortest @every. A tick costs a model's answer; who wants one
// oftener wants a member that works on.
const leastEvery = time.Minute

// Next is the first time after a moment at which the schedule is due; zero if there
// is none, as with the 30th of February. Time zones change their clocks: a time
// that a change skips comes right after it, and one that a change repeats comes
// once, unless the schedule is for every hour.
func (s Schedule) Next(after time.Time) (time.Time, error) {
	plan, err := parseCron(s.Cron)
	if err != nil {
		return time.Time{}, err
	}
	zone := after.Location()
	if s.Zone != "" {
		if zone, err = time.LoadLocation(s.Zone); err != nil {
			return time.Time{}, fmt.Errorf("zone %q: %w", s.Zone, err)
		}
	}
	fields, ok := plan.(*cron.SpecSchedule)
	if everyHour := !ok || bits.OnesCount64(fields.Hour&(1<<24-1)) == 24; everyHour {
		return plan.Next(after.In(zone)), nil
	}
	// Fixed times are looked for on the wall's clock, which no zone changes: in a
	// zone's own time the parser misses days whose midnight is skipped.
	for wall := wallClock(after.In(zone)); ; {
		if wall = plan.Next(wall); wall.IsZero() {
			return wall, nil
		}
		if next := onWall(wall, zone); next.After(after) {
			return next, nil
		}
	}
}

// wallClock is what the clock on the wall shows, as a time in UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// onWall is when the clock on a zone's wall shows a time: the first time of two, and
// where it is skipped, when it would have been.
func onWall(wall time.Time, zone *time.Location) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	early := wall.Add(-time.Duration(before) * time.Second).In(zone)
	if wallClock(early).Equal(wall) {
		return early
	}
	late := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	if wallClock(late).Equal(wall) {
		return late
	}
	return early
}

// parseCron reads a cron line. With days of the month and of the week both given,
// either will do, as in every crontab.
func parseCron(line string) (cron.Schedule, error) {
	if strings.HasPrefix(line, "TZ=") || strings.HasPrefix(line, "CRON_TZ=") {
		return nil, errors.New("the time zone stands apart; write it under zone")
	}
	parser := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor |
		cron.DowOrDom).WithMinEveryInterval(leastEvery)
	plan, err := parser.Parse(line)
	if err != nil {
		return nil, err
	}
	return plan, nil
}
