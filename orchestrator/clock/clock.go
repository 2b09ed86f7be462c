// Package clock is where a team has the time from, so that tests can set it. It
// is covey's own and makes no promise to other programs.
package clock

import "time"

// Clock tells the time and waits. The zero Clock is the machine's.
type Clock struct {
	TimeNow   func() time.Time                     // nil: time.Now
	TimeAfter func(time.Duration) <-chan time.Time // nil: time.After
}

// Now is the wall clock. What ends at a time of day that a vendor named ends then
// on a machine that has slept in between, too.
func (c Clock) Now() time.Time {
	if c.TimeNow == nil {
		return time.Now()
	}
	return c.TimeNow()
}

// After is [time.After] by this clock.
func (c Clock) After(d time.Duration) <-chan time.Time {
	if c.TimeAfter == nil {
		return time.After(d)
	}
	return c.TimeAfter(d)
}
