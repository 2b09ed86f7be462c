//go:build unix

package state

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/events"
)

// TestSlots: over several teams no more gates run at once than the limit allows, all get their turn,
// and who waits is known.
func TestSlots(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var w waits
	teams := []*Slots{w.slots(home, 2), w.slots(home, 2), w.slots(home, 2)}
	var now, most, ran atomic.Int32
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			release, err := teams[i%len(teams)].Acquire(t.Context(), "ana")
			if err != nil {
				t.Error(err)
				return
			}
			n := now.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			ran.Add(1)
			now.Add(-1)
			release()
		})
	}
	all.Wait()
	if ran.Load() != 30 || most.Load() > 2 {
		t.Errorf("%d ran, %d at once", ran.Load(), most.Load())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now["ana"] != "" || w.odd > 0 {
		t.Errorf("ana still waits for %q; %d waits began or ended twice", w.now["ana"], w.odd)
	}
}

// waits is what members wait for, as slots tell.
type waits struct {
	mu      sync.Mutex
	now     map[string]string
	odd     int // waits of one team that began or ended twice
	changed chan struct{}
}

// slots returns slots that tell of each wait.
func (w *waits) slots(home string, most int) *Slots {
	if w.now == nil {
		w.now, w.changed = map[string]string{}, make(chan struct{}, 100)
	}
	before := ""
	s := NewSlots(home, func() int { return most }, func(member string, e events.Data) {
		w.mu.Lock()
		defer w.mu.Unlock()
		now := e.(events.Waiting)
		if (before == "") == (now.For == "") || now.Kind != events.ForGates {
			w.odd++
		}
		w.now[member], before = now.For, now.For
		w.changed <- struct{}{}
	})
	s.quiet = 0
	return s
}

// TestSlotsWait: who waits is told, and goes away with its context. A gate of nobody is not told of.
func TestSlotsWait(t *testing.T) {
	t.Parallel()
	var w waits
	home := t.TempDir()
	release, err := w.slots(home, 1).Acquire(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	other := w.slots(home, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	failed := make(chan error)
	go func() {
		_, err := other.Acquire(ctx, "ben")
		failed <- err
	}()
	<-w.changed
	if w.now["ben"] != "other gates (1 at once)" || len(w.now) != 1 {
		t.Errorf("they wait: %v", w.now)
	}
	cancel(gone)
	if err := <-failed; !errors.Is(err, gone) || w.now["ben"] != "" {
		t.Errorf("%v, and ben waits for %q", err, w.now["ben"])
	}
	release()
	again, err := other.Acquire(t.Context(), "ben")
	if err != nil {
		t.Fatal(err)
	}
	again()
	var none *Slots
	free, err := none.Acquire(t.Context(), "")
	if err != nil {
		t.Fatal("no slots limit something")
	}
	free()
}

// TestSlotsHeldForEver: a process that never frees a slot stops no team.
func TestSlotsHeldForEver(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var w waits
	release, err := w.slots(home, 1).Acquire(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	other := w.slots(home, 1)
	other.wait = 1
	for range 2 {
		free, err := other.Acquire(t.Context(), "ben")
		if err != nil {
			t.Fatal(err)
		}
		free()
	}
}
