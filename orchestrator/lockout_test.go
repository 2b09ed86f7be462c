package orchestrator

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/clock"
)

func TestRetryAt(t *testing.T) {
	now := atThree
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
		now, tries := atThree, 0
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
		want lockState
	}{
		"none":    {nil, ""},
		"later":   {&lockout{Until: atThree.Add(time.Second)}, lockUsedUp},
		"now":     {&lockout{Until: atThree}, lockOver},
		"earlier": {&lockout{Until: atThree.Add(-time.Hour)}, lockOver},
		"at once": {&lockout{}, lockOver},
		"login":   {&lockout{LoggedOut: true}, lockLogin},
	} {
		if got := tt.l.state(atThree); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if holds := tt.l.holds(atThree); holds != (tt.want == lockUsedUp || tt.want == lockLogin) {
			t.Errorf("%s: holds is %v", name, holds)
		}
	}
}

func TestLockoutTexts(t *testing.T) {
	codex := configs.Member{Name: "api", Agent: configs.Agent{Name: "codex", Kind: configs.ACP, Preset: configs.Codex}}
	own := configs.Member{Name: "api", Agent: configs.Agent{Name: "mine", Kind: configs.ACP}}
	now := atThree.Local().Add(-time.Minute)
	at := wording.ShortTime(atThree.Local(), now)
	for got, want := range map[string]string{
		loginText(codex, "said", "covey up"):                        "codex is not logged in; run `codex login`, then `covey up`",
		loginText(own, "say\nthis", "covey up"):                     "mine is not logged in (say this); log in with its program, then `covey up`",
		limitText(codex, lockout{Until: atThree, Known: true}, now): "usage limit of codex reached; it goes on at " + at,
		limitText(codex, lockout{Until: atThree}, now):              "usage limit of codex reached; it tries again at " + at,
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
	now := atThree
	c := &crew{clock: clock.Clock{TimeNow: func() time.Time { return now }, TimeAfter: func(d time.Duration) <-chan time.Time {
		slept = d
		return make(chan time.Time)
	}}}
	locked := func(wait time.Duration) seatView { return seatView{Lock: lockUsedUp, Until: atThree.Add(wait)} }
	gone := locked(time.Second)
	gone.Gone = true
	for name, tt := range map[string]struct {
		seats []seatView
		want  time.Duration
	}{
		"the first":       {[]seatView{{}, locked(50 * time.Second), locked(20 * time.Second)}, 20 * time.Second},
		"not for long":    {[]seatView{locked(5 * time.Hour)}, maxSleep},
		"who is gone":     {[]seatView{gone, locked(40 * time.Second)}, 40 * time.Second},
		"over since then": {[]seatView{locked(-time.Hour)}, 0},
	} {
		if c.nextRetry(tt.seats) == nil || slept != tt.want {
			t.Errorf("%s: sleeps for %v, want %v", name, slept, tt.want)
		}
	}
	if c.nextRetry([]seatView{{}, {Lock: lockLogin}, {Lock: lockOver}, gone}) != nil {
		t.Error("nobody waits for a time, and there is a timer")
	}
}
