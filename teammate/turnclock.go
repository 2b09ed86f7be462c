package teammate

import (
	"sync"
	"time"
)

// turnClock ends a turn after limits.turn_timeout. Time in which the turn waits for what others
// use does not count.
type turnClock struct {
	over func()

	mu    sync.Mutex
	left  time.Duration // when it stopped last
	timer *time.Timer   // nil while it stands
	since time.Time     // when timer began
	waits int           // waits that have not ended
}

// PauseTimeout stops the time of the running turn, if it has a limit, until resume is called. It may
// be called from any goroutine.
func (t *Teammate) PauseTimeout() (resume func()) {
	if clock := t.clock.Load(); clock != nil {
		return clock.pause()
	}
	return func() {}
}

// pause stops the clock until resume was called as often as pause.
func (c *turnClock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits++
	c.halt()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waits--; c.waits == 0 {
			c.since, c.timer = time.Now(), time.AfterFunc(c.left, c.over)
		}
	}
}

// stop ends the clock.
func (c *turnClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits++ // it never starts again
	c.halt()
}

// halt stops the timer. The caller holds c.mu.
func (c *turnClock) halt() {
	if c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	c.timer = nil
}
