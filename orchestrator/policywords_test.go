package orchestrator

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// TestRestartOf: only a policy that the spec gives has a member begin anew; the
// defaults are for agent programs.
func TestRestartOf(t *testing.T) {
	given := configs.Restart{Max: 2, Within: time.Minute, Given: true}
	for _, test := range []struct{ in, want configs.Restart }{
		{configs.Restart{}, configs.Restart{}},
		{configs.Restart{Max: 3, Within: time.Hour}, configs.Restart{}},
		{given, given},
		{configs.Restart{Given: true}, configs.Restart{Given: true}},
	} {
		if got := restartOf(configs.Member{Restart: test.in}); got != test.want {
			t.Errorf("%+v gives %+v", test.in, got)
		}
	}
}

// TestTooOften: who was never started again is not said to have been.
func TestTooOften(t *testing.T) {
	c := &crew{}
	for want, r := range map[string]configs.Restart{
		"it broke": {Given: true},
		"it broke; it was started again 2 times in 1m0s, and is not any more": {Max: 2, Within: time.Minute, Given: true},
	} {
		if got := c.tooOften(&seat{member: &roster.Member{Member: &configs.Member{Restart: r}}}, "it broke"); got != want {
			t.Errorf("%+v: %q", r, got)
		}
	}
}
