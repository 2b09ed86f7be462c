package orchestrator

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
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

// TestAllotAnew: another number under parallel counts at once; without one there is
// room for everybody; of two that share an agent the careful one counts.
func TestAllotAnew(t *testing.T) {
	c := &crew{}
	member := func(parallel int) configs.Member {
		return configs.Member{Agent: configs.Agent{Name: "tool", Kind: configs.Builtin, Parallel: parallel}}
	}
	for _, test := range []struct {
		sizes []int
		least int // free by then
		most  int
	}{{[]int{2}, 2, 2}, {[]int{5}, 5, 5}, {[]int{1}, 1, 1}, {[]int{0}, 1000, 1 << 31}, {[]int{3}, 3, 3}, {[]int{0, 4, 2}, 2, 2}} {
		var members []configs.Member
		for _, n := range test.sizes {
			members = append(members, member(n))
		}
		c.ledger = budget.New(configs.Budget{}, nil, budget.Ports{})
		c.allot(members)
		if got := c.freeSlots()["tool"]; got < test.least || got > test.most {
			t.Errorf("parallel %v leaves %d", test.sizes, got)
		}
	}
}
