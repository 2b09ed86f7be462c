package orchestrator

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/clock"
	"github.com/coveyteam/covey/orchestrator/plan"
)

func TestRetryAt(t *testing.T) {
	now := limitOver
	tests := []struct {
		name      string
		announced time.Duration // from now; 0: not announced
		tries     int
		want      time.Duration
	}{
		{"announced", 3 * time.Hour, 1, 3 * time.Hour},
		{"announced and soon", time.Second, 1, time.Second},
		{"not known", 0, 1, 15 * time.Minute},
		{"not known, again", 0, 2, 30 * time.Minute},
		{"and again", 0, 4, 2 * time.Hour},
		{"at most", 0, 5, 2 * time.Hour},
		{"for ever", 0, 1 << 40, 2 * time.Hour},
		{"in the past", -time.Minute, 1, 15 * time.Minute},
		{"in the past, again", -time.Minute, 2, time.Minute},
		{"it did not hold", time.Second, 2, time.Minute},
		{"and did not hold again", time.Second, 5, 8 * time.Minute},
		{"a longer one counts", 3 * time.Hour, 9, 3 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var announced time.Time
			if tt.announced != 0 {
				announced = now.Add(tt.announced)
			}
			if got := retryAt(now, announced, tt.tries).Sub(now); got != tt.want {
				t.Errorf("tries again in %v, want %v", got, tt.want)
			}
		})
	}
}

// However often it does not hold what the agent announces, the tries do not
// come close together.
func TestRetriesAreNoStorm(t *testing.T) {
	for name, announce := range map[string]func(time.Time) time.Time{
		"never":    func(time.Time) time.Time { return time.Time{} },
		"a second": func(now time.Time) time.Time { return now.Add(time.Second) },
		"the past": func(now time.Time) time.Time { return now.Add(-time.Hour) },
	} {
		now, tries := limitOver, 0
		for day := now.Add(24 * time.Hour); now.Before(day); {
			tries++
			now = retryAt(now, announce(now), tries)
		}
		if tries > 20 {
			t.Errorf("%s: %d tries a day", name, tries)
		}
	}
}

func TestLockoutState(t *testing.T) {
	for name, tt := range map[string]struct {
		l    *lockout
		want plan.Lock
	}{
		"none":    {nil, ""},
		"later":   {&lockout{Until: limitOver.Add(time.Second)}, plan.LockUsedUp},
		"now":     {&lockout{Until: limitOver}, plan.LockOver},
		"earlier": {&lockout{Until: limitOver.Add(-time.Hour)}, plan.LockOver},
		"at once": {&lockout{}, plan.LockOver},
		"login":   {&lockout{LoggedOut: true}, plan.LockLogin},
	} {
		if got := tt.l.state(limitOver); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if holds := tt.l.holds(limitOver); holds != (tt.want == plan.LockUsedUp || tt.want == plan.LockLogin) {
			t.Errorf("%s: holds is %v", name, holds)
		}
	}
}

func TestLockoutTexts(t *testing.T) {
	codex := configs.Member{Name: "api", Agent: configs.Agent{Name: "codex", Kind: configs.ACP, Preset: configs.Codex}}
	own := configs.Member{Name: "api", Agent: configs.Agent{Name: "mine", Kind: configs.ACP}}
	now := limitOver.Local().Add(-time.Minute)
	at := wording.ShortTime(limitOver.Local(), now)
	for got, want := range map[string]string{
		loginText(codex, "said", "covey up"):                          "codex is not logged in; run `codex login`, then `covey up`",
		loginText(own, "say\nthis", "covey up"):                       "mine is not logged in (say this); log in with its program, then `covey up`",
		limitText(codex, lockout{Until: limitOver, Known: true}, now): "usage limit of codex reached; it goes on at " + at,
		limitText(codex, lockout{Until: limitOver}, now):              "usage limit of codex reached; it tries again at " + at,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The crew sleeps until the first of its members may try again, and looks at the
// clock in between; a time that has come meanwhile wakes it at once.
func TestNextRetry(t *testing.T) {
	var slept time.Duration
	now := limitOver
	c := &crew{clock: clock.Clock{TimeNow: func() time.Time { return now }, TimeAfter: func(d time.Duration) <-chan time.Time {
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
		if c.nextRetry(tt.seats) == nil || slept != tt.want {
			t.Errorf("%s: sleeps for %v, want %v", name, slept, tt.want)
		}
	}
	if c.nextRetry([]plan.Seat{{}, {Lock: plan.LockLogin}, {Lock: plan.LockOver}, gone}) != nil {
		t.Error("nobody waits for a time, and there is a timer")
	}
}

// limitOver is when limits in these tests are over.
var limitOver = time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
