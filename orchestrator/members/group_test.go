package members

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestGangBeginsWhileItEnds: goroutines may start during Wait. All have ended when Wait
// returns, and none starts after it. Run it with the race detector.
func TestGangBeginsWhileItEnds(t *testing.T) {
	for range 200 {
		var g Group
		var began, ran, refused atomic.Int64
		var others sync.WaitGroup
		for range 4 {
			others.Go(func() {
				for range 4 {
					if g.Go(func() { ran.Add(1) }) {
						began.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
		g.Wait()
		atEnd := ran.Load()
		others.Wait()
		if ran.Load() != atEnd || began.Load() != atEnd || began.Load()+refused.Load() != 16 {
			t.Fatalf("%d had run at the end and %d later; %d began, %d were refused",
				atEnd, ran.Load(), began.Load(), refused.Load())
		}
		if g.Go(func() {}) {
			t.Fatal("one began after the end")
		}
	}
}
