package agent

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// TestDrainAtOnce: what hooks and helpers add while a turn drains is drained once, and only once.
func TestDrainAtOnce(t *testing.T) {
	const adders, each = 8, 200
	var l Later
	var m Meter
	var adding sync.WaitGroup
	for i := range adders {
		adding.Go(func() {
			for j := range each {
				l.Add(Input{MessageID: fmt.Sprint(i, ".", j)})
				m.Add(Usage{InputTokens: 2, OutputTokens: 1, FailedTokens: 1}, 0.25)
			}
		})
	}
	over := make(chan struct{})
	go func() {
		adding.Wait()
		close(over)
	}()
	next := make([]int, adders) // what comes next of each adder
	var used Usage
	var usd float64
	for last := false; !last; {
		select {
		case <-over:
			last = true
		default:
		}
		owed, cost := m.Drain()
		used, usd = used.Plus(owed), usd+cost
		for _, in := range l.Drain() {
			var i, j int
			if _, err := fmt.Sscanf(in.MessageID, "%d.%d", &i, &j); err != nil || j != next[i] {
				t.Fatalf("%s comes, and %d was next: %v", in.MessageID, next[i], err)
			}
			next[i]++
		}
	}
	for i, n := range next {
		if n != each {
			t.Errorf("of adder %d only %d came", i, n)
		}
	}
	want := Usage{InputTokens: 2 * adders * each, OutputTokens: adders * each, FailedTokens: adders * each}
	if used != want || usd != 0.25*adders*each {
		t.Errorf("%+v and $%v, want %+v", used, usd, want)
	}
}

// TestBackgroundKeepsValues: a function gets the values of its turn, such as its trace, and an end
// of the turn before its start does not keep it from running.
func TestBackgroundKeepsValues(t *testing.T) {
	type key struct{}
	ctx, over := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
	over()
	var b Background
	var got any
	var failed error
	b.Start(ctx, func(ctx context.Context) { got, failed = ctx.Value(key{}), ctx.Err() })
	b.End(t.Context())
	if got != "kept" || failed != nil {
		t.Errorf("it has %v, and %v", got, failed)
	}
}

// TestBackgroundOfNone: there is nothing to wait for, before the first start and after the last
// end.
func TestBackgroundOfNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Background
		b.End(t.Context())
		b.Stop()
		for range 3 {
			b.Start(t.Context(), func(context.Context) {})
		}
		synctest.Wait()
		if len(b.cancels) > 0 {
			t.Errorf("%d that have ended are kept", len(b.cancels))
		}
		b.Stop()
		b.Stop()
		b.End(t.Context())
	})
}

// TestStopCancelsAll: each of many is canceled, also what another one has started meanwhile.
func TestStopCancelsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Background
		var mu sync.Mutex
		canceled := 0
		wait := func(ctx context.Context) {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			canceled++
		}
		for range 20 {
			b.Start(t.Context(), func(ctx context.Context) {
				b.Start(ctx, wait)
				wait(ctx)
			})
		}
		synctest.Wait()
		b.Stop()
		if canceled != 40 || len(b.cancels) > 0 {
			t.Errorf("%d were canceled, %d are left", canceled, len(b.cancels))
		}
	})
}

// TestSplitNotes: the ids of notes about limits are told apart from those of mail, in order.
func TestSplitNotes(t *testing.T) {
	note := LimitNote(3, "max_tokens", 50, "half of the tokens").MessageID
	notes, mail := SplitNotes([]string{"m1", note, "", "budget", "m2", NotePrefix})
	if fmt.Sprint(notes) != fmt.Sprint([]string{note, NotePrefix}) || fmt.Sprintf("%q", mail) != `["m1" "" "budget" "m2"]` {
		t.Errorf("notes %q, mail %q", notes, mail)
	}
	ids := map[string]bool{}
	for _, in := range []Input{
		LimitNote(3, "max_tokens", 50, ""), LimitNote(3, "max_tokens", 75, ""), LimitNote(4, "max_tokens", 50, ""), LimitNote(3, "max_usd", 50, ""),
	} {
		ids[in.MessageID] = true
	}
	if len(ids) != 4 {
		t.Errorf("notes of another turn, limit or level are the same: %v", ids)
	}
}
