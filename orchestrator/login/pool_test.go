package login

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

// none is what take calls where nobody should have to wait.
func none(t *testing.T) func() {
	return func() { t.Helper(); t.Error("somebody had to wait") }
}

// Who waits longest is next.
func TestSlotsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		release, err := p.Take(t.Context(), none(t))
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				mine, err := p.Take(t.Context(), func() {})
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
		release() // once more does no harm
		all.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || p.Left() != 1 {
			t.Errorf("the order was %v, and %d slots are left", order, p.Left())
		}
	})
}

// Who gives up waiting takes nothing along, even if its turn comes just then.
func TestSlotsOutliveWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		release, _ := p.Take(t.Context(), none(t))
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error)
		go func() {
			_, err := p.Take(ctx, func() {})
			result <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-result; !errors.Is(err, gone) {
			t.Errorf("it ended with %v", err)
		}
		release()
		if p.Left() != 1 || len(p.queue) != 0 {
			t.Errorf("%d left, %d waiting", p.Left(), len(p.queue))
		}
		// Its turn has come, and it does not know: leave passes the slot on.
		turn := make(chan struct{})
		p.free = 0
		p.queue = []chan struct{}{turn}
		p.give()
		p.leave(turn)
		if p.Left() != 1 {
			t.Error("the slot was lost")
		}
	})
}

// TestSlotsNeverLoseAny: whatever members do, no more than there are slots are
// in a turn, and in the end all slots are free again.
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
					release, err := p.Take(ctx, func() {})
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
			if most > free || p.Left() != free || len(p.queue) != 0 {
				t.Errorf("%d at once of %d; %d left, %d waiting", most, free, p.Left(), len(p.queue))
			}
		})
	})
}

// An agent without a limit has no slots, and nobody waits.
func TestNoSlots(t *testing.T) {
	var p *pool
	release, err := p.Take(t.Context(), none(t))
	if err != nil {
		t.Fatal(err)
	}
	release()
}
