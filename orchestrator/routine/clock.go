package routine

import "time"

// Backoff is the pause before something is tried again that has failed so many times
// in a row: a second, doubled by each failure, and two minutes at most.
func Backoff(failures int) time.Duration {
	const first, longest = time.Second, 2 * time.Minute
	pause := first
	for range min(failures, 10) - 1 { // ten doublings are more than the longest pause
		pause = min(2*pause, longest)
	}
	return pause
}

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
