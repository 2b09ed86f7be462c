package orchestrator

import "sync"

// gang is the goroutines of a crew. Other than with a sync.WaitGroup, requests from outside may
// begin some while the end of the team waits for them; once Wait has returned, none begins. The
// zero value is ready.
type gang struct {
	mu   sync.Mutex
	n    int
	none *sync.Cond // n is 0; nil: nobody waits
	over bool
}

// Go runs f in a goroutine of its own; false: it is too late, and f does not run.
func (g *gang) Go(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return false
	}
	g.n++
	go func() {
		defer g.done()
		f()
	}()
	return true
}

// done is for a goroutine that has ended.
func (g *gang) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.none != nil {
		g.none.Broadcast()
	}
}

// Wait returns once no goroutine runs any more.
func (g *gang) Wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.none == nil {
		g.none = sync.NewCond(&g.mu)
	}
	for g.n > 0 {
		g.none.Wait()
	}
	g.over = true
}
