package orchestrator

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/login"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/tasks"
)

// The crew sleeps until the first of its members may try again, and looks at the
// clock in between; a time that has come meanwhile wakes it at once.
func TestNextRetry(t *testing.T) {
	var slept time.Duration
	now := limitOver
	c := &crew{clock: routine.Clock{TimeNow: func() time.Time { return now }, TimeAfter: func(d time.Duration) <-chan time.Time {
		slept = d
		return make(chan time.Time)
	}}}
	locked := func(wait time.Duration) plan.Seat {
		return plan.Seat{Lock: plan.LockUsedUp, Until: limitOver.Add(wait)}
	}
	gone := locked(time.Second)
	gone.Gone = true
	for name, tt := range map[string]struct {
		seats []plan.Seat
		want  time.Duration
	}{
		"the first":       {[]plan.Seat{{}, locked(50 * time.Second), locked(20 * time.Second)}, 20 * time.Second},
		"not for long":    {[]plan.Seat{locked(5 * time.Hour)}, maxSleep},
		"who is gone":     {[]plan.Seat{gone, locked(40 * time.Second)}, 40 * time.Second},
		"over since then": {[]plan.Seat{locked(-time.Hour)}, 0},
	} {
		if (&director{c: c}).nextRetry(tt.seats) == nil || slept != tt.want {
			t.Errorf("%s: sleeps for %v, want %v", name, slept, tt.want)
		}
	}
	if (&director{c: c}).nextRetry([]plan.Seat{{}, {Lock: plan.LockLogin}, {Lock: plan.LockOver}, gone}) != nil {
		t.Error("nobody waits for a time, and there is a timer")
	}
}

// loginsOf has the logins of a team that waits for its limits.
func loginsOf(store *tasks.Store, j *journal.Journal) *login.Logins {
	return login.New(login.Ports{
		Store: store, Journal: j, Changed: func() {}, Command: launch.LoginCommand,
		OnLimit: func() configs.OnLimit { return configs.WaitForLimit },
	})
}

// limitOver is when limits in these tests are over.
var limitOver = time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
