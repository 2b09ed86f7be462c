package teammate

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTurnClock: what a turn waits for others does not count for its time limit.
func TestTurnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), make(chan time.Duration, 1)
		clock := &turnClock{left: 10 * time.Second, over: func() { ended <- time.Since(began) }}
		clock.pause()()
		time.Sleep(4 * time.Second)
		one, two := clock.pause(), clock.pause()
		time.Sleep(time.Hour)
		one()
		time.Sleep(time.Hour)
		two()
		if took := <-ended; took != 2*time.Hour+10*time.Second {
			t.Errorf("the turn ended after %v", took)
		}
		// A stopped clock never runs, whoever still waits.
		clock = &turnClock{left: time.Second, over: func() { t.Error("a turn that is over was ended") }}
		resume := clock.pause()
		clock.stop()
		resume()
		time.Sleep(time.Minute)
	})
}
