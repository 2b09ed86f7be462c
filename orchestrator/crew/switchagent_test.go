package crew

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
)

// TestSleep: the crew sleeps until the scene changes by itself, for maxSleep at most.
func TestSleep(t *testing.T) {
	var slept time.Duration
	c := crewOf(t, Deps{Clock: members.Clock{TimeAfter: func(d time.Duration) <-chan time.Time {
		slept = d
		return make(chan time.Time)
	}}}, "lead")
	d := director{c: c}
	var s plan.Scene
	if d.changed(s) != nil {
		t.Error("nothing changes, and there is a timer")
	}
	for _, tt := range []struct{ in, want time.Duration }{
		{5 * time.Hour, maxSleep}, {20 * time.Second, 20 * time.Second}, {50 * time.Second, 20 * time.Second}, {0, 0},
	} {
		s.ChangesIn(tt.in)
		if d.changed(s) == nil || slept != tt.want {
			t.Errorf("it sleeps for %v, want %v", slept, tt.want)
		}
	}
}

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
	other, err := c.deps.Logins.Admit(ctx, &members.Member{Member: &configs.Member{Name: "ops", Agent: member.Agent}})
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
