//go:build unix

package state

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSlots: over several teams no more gates run at once than the limit allows, all get their turn,
// and who waits is known.
func TestSlots(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	two := func() int { return 2 }
	teams := []*Slots{NewSlots(home, two), NewSlots(home, two), NewSlots(home, two)}
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
	if waits := teams[0].Waits("ana"); waits != "" {
		t.Errorf("ana still waits for %s", waits)
	}
}

// TestSlotsWait: who waits is named, and goes away with its context.
func TestSlotsWait(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	one := NewSlots(home, func() int { return 1 })
	release, err := one.Acquire(t.Context(), "ana")
	if err != nil {
		t.Fatal(err)
	}
	other := NewSlots(home, func() int { return 1 })
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	failed := make(chan error)
	go func() {
		_, err := other.Acquire(ctx, "ben")
		failed <- err
	}()
	for other.Waits("ben") == "" {
		if ctx.Err() != nil {
			t.Fatal("the test is over")
		}
	}
	if got := other.Waits("ben"); got != "other gates (1 at once)" || other.Waits("ana") != "" {
		t.Errorf("ben waits for %q", got)
	}
	cancel(gone)
	if err := <-failed; !errors.Is(err, gone) || other.Waits("ben") != "" {
		t.Errorf("%v, and ben waits for %q", err, other.Waits("ben"))
	}
	release()
	again, err := other.Acquire(t.Context(), "ben")
	if err != nil {
		t.Fatal(err)
	}
	again()
	var none *Slots
	if free, err := none.Acquire(t.Context(), ""); err != nil || none.Waits("") != "" {
		t.Error("no slots limit something")
	} else {
		free()
	}
}

// TestSlotsHeldForEver: a process that never frees a slot stops no team.
func TestSlotsHeldForEver(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	one := func() int { return 1 }
	release, err := NewSlots(home, one).Acquire(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	other := NewSlots(home, one)
	other.wait = 1
	for range 2 {
		free, err := other.Acquire(t.Context(), "ben")
		if err != nil {
			t.Fatal(err)
		}
		free()
	}
}
