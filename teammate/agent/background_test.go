package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBackground: what runs outlives the turn that started it, and End and Stop wait for it: End
// for BackgroundLimit, or less if the member is told to stop.
func TestBackground(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, test := range map[string]struct {
		end  func(b *Background)
		took time.Duration
	}{
		"the end":               {func(b *Background) { b.End(context.Background()) }, BackgroundLimit},
		"the end of who leaves": {func(b *Background) { b.End(stopped) }, 0},
		"a stop":                {(*Background).Stop, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b Background
				quick, long := false, false
				turn, over := context.WithCancel(t.Context())
				b.Start(turn, func(ctx context.Context) { quick = ctx.Err() == nil })
				b.Start(turn, func(ctx context.Context) {
					<-ctx.Done()
					long = true
				})
				over()
				synctest.Wait()
				if !quick || long {
					t.Errorf("after the turn: one has run: %v, the other was canceled: %v", quick, long)
				}
				began := time.Now()
				test.end(&b)
				if took := time.Since(began); took != test.took || !long || len(b.cancels) > 0 {
					t.Errorf("it took %v, %d are left", took, len(b.cancels))
				}
			})
		})
	}
}

// TestDrain: what is drained once does not come again.
func TestDrain(t *testing.T) {
	var l Later
	l.Add(Input{Text: "one"})
	l.Add(Input{Text: "two"})
	if got := Texts(l.Drain()); len(got) != 2 || got[0] != "one" || len(l.Drain()) > 0 {
		t.Errorf("inputs %q", got)
	}
	var m Meter
	m.Add(Usage{InputTokens: 2}, 0.5)
	m.Add(Usage{OutputTokens: 3}, 0.25)
	owed, usd := m.Drain()
	if owed.Total() != 5 || usd != 0.75 {
		t.Errorf("%d tokens, $%v", owed.Total(), usd)
	}
	if owed, usd := m.Drain(); owed.Total() > 0 || usd > 0 {
		t.Errorf("again %d tokens, $%v", owed.Total(), usd)
	}
}
