package accounts

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// none returns a waits function for tests without waits.
func none(t *testing.T) func() {
	return func() { t.Helper(); t.Error("somebody had to wait") }
}

// TestSlotsAreFair: slots are given in order of arrival.
func TestSlotsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		release, err := p.acquire(t.Context(), none(t))
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				mine, err := p.acquire(t.Context(), func() {})
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i) // guarded by the slot
				time.Sleep(time.Second)
				mine()
			})
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("%v had a slot that was taken", order)
		}
		release()
		release() // may be called twice
		all.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || p.unused() != 1 {
			t.Errorf("the order was %v, and %d slots are left", order, p.unused())
		}
	})
}

// TestSlotsOutliveWhoGivesUp: a canceled waiter loses no slot, even if it was just handed
// one.
func TestSlotsOutliveWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		release, _ := p.acquire(t.Context(), none(t))
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error)
		go func() {
			_, err := p.acquire(ctx, func() {})
			result <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-result; !errors.Is(err, gone) {
			t.Errorf("it ended with %v", err)
		}
		release()
		if p.unused() != 1 || len(p.queue) != 0 {
			t.Errorf("%d left, %d waiting", p.unused(), len(p.queue))
		}
		// The slot was handed over before leave, which passes it on.
		turn := make(chan struct{})
		p.free = 0
		p.queue = []chan struct{}{turn}
		p.give()
		p.leave(turn)
		if p.unused() != 1 {
			t.Error("the slot was lost")
		}
	})
}

// TestSlotsOfRunningTurns: a turn that runs already takes a slot even if there is none, and then two must end
// before another begins.
func TestSlotsOfRunningTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		first, second := p.take(), p.take()
		begun := false
		go func() {
			release, err := p.acquire(t.Context(), func() {})
			begun = err == nil
			release()
		}()
		for _, end := range []func(){first, second} {
			if synctest.Wait(); begun {
				t.Error("it began before both had ended")
			}
			end()
		}
		if synctest.Wait(); !begun || p.unused() != 1 {
			t.Errorf("it began: %v; %d left", begun, p.unused())
		}
	})
}

// TestSlotsNeverLoseAny: no more turns run than there are slots, and in the end all slots
// are free.
func TestSlotsNeverLoseAny(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		free := rapid.IntRange(1, 3).Draw(rt, "slots")
		stays := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 12).Draw(rt, "stays")
		patience := rapid.SliceOfN(rapid.IntRange(0, 100), len(stays), len(stays)).Draw(rt, "patience")
		synctest.Test(t, func(t *testing.T) {
			p := newPool(free)
			var mu sync.Mutex
			inside, most := 0, 0
			count := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				inside += n
				most = max(most, inside)
			}
			var all sync.WaitGroup
			for i, stay := range stays {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(patience[i])*time.Millisecond)
					defer cancel()
					release, err := p.acquire(ctx, func() {})
					if err != nil {
						return
					}
					count(1)
					time.Sleep(time.Duration(stay) * time.Millisecond)
					count(-1)
					release()
				})
			}
			all.Wait()
			if most > free || p.unused() != free || len(p.queue) != 0 {
				t.Errorf("%d at once of %d; %d left, %d waiting", most, free, p.unused(), len(p.queue))
			}
		})
	})
}

// TestNoSlots: an agent without a limit has no slots, and nothing waits.
func TestNoSlots(t *testing.T) {
	var p *pool
	release, err := p.acquire(t.Context(), none(t))
	if err != nil {
		t.Fatal(err)
	}
	release()
}
