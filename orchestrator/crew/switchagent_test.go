package crew

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
)

// TestNextRetry: the crew sleeps until the first locked-out member may try again, for
// maxSleep at most; a time in the past wakes it at once.
func TestNextRetry(t *testing.T) {
	var slept time.Duration
	now := limitOver
	c := crewOf(t, Deps{Clock: members.Clock{TimeNow: func() time.Time { return now }, TimeAfter: func(d time.Duration) <-chan time.Time {
		slept = d
		return make(chan time.Time)
	}}}, "lead")
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

// limitOver is when limits in these tests are over.
var limitOver = time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)

// TestPermissionLendsTheSlot: a member that waits for a person does not block others on
// the same login.
func TestPermissionLendsTheSlot(t *testing.T) {
	ctx := t.Context()
	store := testkit.OpenStore(t, tasks.Open)
	c := crewOf(t, Deps{Store: store, Journal: runJournal(t, store)}, "lead", "dev")
	member := configs.Member{Name: "dev", Agent: configs.Agent{Name: "one", Parallel: 1}}
	c.deps.Logins.Allot([]configs.Member{member})
	s := addSeat(t, c, &member)
	release, err := s.Admit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	back := c.deps.Logins.Lend("dev")
	other, err := c.deps.Logins.Admit(ctx, &members.Member{Member: &configs.Member{Name: "ops", Agent: member.Agent}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- back(ctx) }()
	select {
	case <-waiting:
		t.Error("it goes on without a slot")
	case <-time.After(20 * time.Millisecond):
	}
	other()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	release()
	release()
	if n := c.deps.Logins.Free()["one"]; n != 1 {
		t.Errorf("%d slots are free", n)
	}
}
