package members

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
)

// TestFailures: a member restarts as often as its policy says, after growing rests;
// failures before the policy's period do not count.
func TestFailures(t *testing.T) {
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	policy := configs.Restart{Max: 3, Within: time.Hour}
	var f failures
	for i, want := range []struct {
		after time.Duration // since the start
		rest  time.Duration
		ok    bool
	}{
		{0, time.Second, true}, {time.Minute, 2 * time.Second, true}, {2 * time.Minute, 4 * time.Second, true},
		{3 * time.Minute, 0, false}, {59 * time.Minute, 0, false},
		{time.Hour, 4 * time.Second, true}, // the first is dropped
		{61*time.Minute + time.Second, 4 * time.Second, true},
		{10 * time.Hour, time.Second, true},
		{-24 * time.Hour, time.Second, true}, // the clock was set back: later times do not count
	} {
		var rest time.Duration
		var ok bool
		if f, rest, ok = f.next(policy, start.Add(want.after)); rest != want.rest || ok != want.ok {
			t.Errorf("failure %d: rest %s, %v; want %s, %v", i+1, rest, ok, want.rest, want.ok)
		}
	}
	if _, _, ok := f.next(configs.Restart{Within: time.Hour}, start); ok {
		t.Error("a policy of none restarts")
	}
	var many failures
	for range 100 {
		var rest time.Duration
		many, rest, _ = many.next(configs.Restart{Max: 1000, Within: time.Hour}, start)
		if rest > 2*time.Minute {
			t.Fatalf("a rest of %s", rest)
		}
	}
}

// TestPolicyOf: members restart only with a policy in the spec; the defaults are for
// agent programs.
func TestPolicyOf(t *testing.T) {
	given := configs.Restart{Max: 2, Within: time.Minute, Given: true}
	for _, test := range []struct{ in, want configs.Restart }{
		{configs.Restart{}, configs.Restart{}},
		{configs.Restart{Max: 3, Within: time.Hour}, configs.Restart{}},
		{given, given},
		{configs.Restart{Given: true}, configs.Restart{Given: true}},
	} {
		if got := PolicyOf(configs.Member{Restart: test.in}); got != test.want {
			t.Errorf("%+v gives %+v", test.in, got)
		}
	}
}

// TestGivenUp: the text mentions restarts only if there were any.
func TestGivenUp(t *testing.T) {
	for want, r := range map[string]configs.Restart{
		"it broke": {Given: true},
		"it broke; it was started again 2 times in 1m0s, and is not any more": {Max: 2, Within: time.Minute, Given: true},
	} {
		if got := GivenUp(configs.Member{Restart: r}, "it broke"); got != want {
			t.Errorf("%+v: %q", r, got)
		}
	}
}
