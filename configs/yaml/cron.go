package yaml

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // specs name zones, and not every machine has the files
	"unicode"

	"github.com/netresearch/go-cron"
)

// leastEvery is the shortest @every. Each tick costs a request to a model; shorter periods
// are work for a member that keeps running.
const leastEvery = time.Minute

// CheckCron checks a cron line of a spec and its zone.
func (d *Decoder) CheckCron(line, zone Value[string]) {
	if !d.CheckZone(zone) || line.V == "" {
		return
	}
	if err := CheckCron(line.V, zone.V, time.Now()); err != nil {
		d.Fail(line.At.At, "%v", err)
	}
}

// CheckCron returns what is wrong with a cron line, and what to write instead. To find a line
// that never occurs, such as 31 February, it computes the next time.
func CheckCron(line, zone string, now time.Time) error {
	next, err := NextTime(line, zone, now)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a recurring time (%s); write five fields such as \"30 7 * * 1-5\", "+
			"or @hourly, @daily, @weekly", Quote(line), Clip(err.Error()))
	case next.IsZero():
		return fmt.Errorf("%s never occurs; write a date that exists", Quote(line))
	}
	return nil
}

// NextTime returns the first time after a moment at which a cron line is due in a zone, or the
// zero time if there is none, as for 30 February. zone is the name of an IANA time zone;
// empty: that of after. At clock changes, a time that is skipped is due right after the
// change, and a time that occurs twice is due once, unless the line is hourly.
func NextTime(line, zone string, after time.Time) (time.Time, error) {
	plan, err := parseCron(line)
	if err != nil {
		return time.Time{}, err
	}
	place := after.Location()
	if zone != "" {
		if place, err = time.LoadLocation(zone); err != nil {
			return time.Time{}, fmt.Errorf("zone %q: %w", zone, err)
		}
	}
	fields, ok := plan.(*cron.SpecSchedule)
	if everyHour := !ok || bits.OnesCount64(fields.Hour&(1<<24-1)) == 24; everyHour {
		return plan.Next(after.In(place)), nil
	}
	// Fixed times are computed as wall clock times in UTC, which has no clock changes: in a
	// zone's own time the parser skips days whose midnight does not exist.
	for wall := wallClock(after.In(place)); ; {
		if wall = plan.Next(wall); wall.IsZero() {
			return wall, nil
		}
		if next := onWall(wall, place); next.After(after) {
			return next, nil
		}
	}
}

// wallClock returns what a clock shows at t, as a time in UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// onWall returns when a clock in the zone shows a time: the first of two such moments, or
// if the time is skipped, the moment at which it would have been.
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

// parseCron reads a cron line. If days of the month and of the week are both given, either
// one matches, as in any crontab.
func parseCron(line string) (cron.Schedule, error) {
	if strings.HasPrefix(line, "TZ=") || strings.HasPrefix(line, "CRON_TZ=") {
		return nil, errors.New("the time zone is a key of its own; write it under zone")
	}
	parser := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor |
		cron.DowOrDom).WithMinEveryInterval(leastEvery)
	plan, err := parser.Parse(line)
	if err != nil {
		return nil, err
	}
	// The parser takes 22-6 as a range over midnight, which crontabs refuse.
	for part := range strings.FieldsFuncSeq(line, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
		span, _, _ := strings.Cut(part, "/")
		if from, to, ranges := strings.Cut(span, "-"); ranges && cronValue(from) > cronValue(to) {
			return nil, fmt.Errorf("%s ends before it begins; write two ranges with a comma", span)
		}
	}
	return plan, nil
}

// cronValue returns the number that one end of a range stands for.
func cronValue(field string) int {
	if n, err := strconv.Atoi(field); err == nil {
		return n
	}
	const names = "...janfebmaraprmayjunjulaugsepoctnovdecsunmontuewedthufrisat" // jan is 1, and sun 0
	return strings.Index(names, strings.ToLower(field)) / 3 % 13
}
