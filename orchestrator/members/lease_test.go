package members

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestReclaim: what somebody has in progress whom nobody runs goes back to the list after
// the time of grace, with the reason; who runs keeps what it has.
func TestReclaim(t *testing.T) {
	t.Parallel()
	store := testkit.OpenStore(t, tasks.Open)
	list := []tasks.New{{Subject: "a"}, {Subject: "b"}, {Subject: "c"}}
	if _, err := store.Add(t.Context(), actors.Actor{}, list); err != nil {
		t.Fatal(err)
	}
	for id, name := range map[string]string{"1": "runs", "2": "gone", "3": "back"} {
		if _, err := store.Claim(t.Context(), actors.Actor{Name: name}, id, tasks.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	attach := func(name string) {
		if _, err := store.Members().Attach(t.Context(), name, func() string { return name }); err != nil {
			t.Fatal(err)
		}
	}
	attach("runs")
	attach("gone")
	store.Members().Detach("gone")
	ticks, looked := make(chan time.Time), make(chan struct{})
	byHand := Clock{TimeAfter: func(d time.Duration) <-chan time.Time {
		if d != leaseGrace {
			t.Errorf("it waits for %v", d)
		}
		looked <- struct{}{}
		return ticks
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Reclaim(ctx, store, byHand, func() {}) }()
	for i := range 3 { // begin, and two looks
		<-looked
		if i == 1 {
			attach("back")
		}
		if i < 2 {
			ticks <- time.Time{}
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for id, want := range map[string]string{"1": "runs", "2": "", "3": "back"} {
		if task, err := store.Task(t.Context(), id); err != nil || task.Owner != want {
			t.Errorf("task %s belongs to %q, want %q, %v", id, task.Owner, want, err)
		}
	}
}
