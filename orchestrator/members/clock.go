package members

import "time"

// Backoff returns the pause before the next try after consecutive failures: a second,
// doubled by each failure, at most two minutes.
func Backoff(failures int) time.Duration {
	const first, longest = time.Second, 2 * time.Minute
	pause := first
	for range min(failures, 10) - 1 { // ten doublings exceed the longest pause
		pause = min(2*pause, longest)
	}
	return pause
}

// Clock tells the time and waits. The zero Clock is the system's.
type Clock struct {
	TimeNow   func() time.Time                     // nil: time.Now
	TimeAfter func(time.Duration) <-chan time.Time // nil: time.After
}

// Now returns the wall-clock time, so that a limit that a vendor gave as a time of day
// ends then, even if the machine has slept.
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
