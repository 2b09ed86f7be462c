package program

import "time"

// Alarm is a timer as agents use one. Tests have such as ring when they say so, since
// how fast a program is depends on the machine.
type Alarm struct {
	C    <-chan time.Time
	Set  func(time.Duration) // it rings after that time, and not before
	Stop func()
}

// NewAlarm is an alarm of the real time, which rings after d.
func NewAlarm(d time.Duration) Alarm {
	t := time.NewTimer(d)
	return Alarm{C: t.C, Set: func(d time.Duration) { t.Reset(d) }, Stop: func() { t.Stop() }}
}
