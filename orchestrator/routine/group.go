// Package routine has what the goroutines of a team run by: groups in which some may begin
// while their end is awaited, the loop that others poke, and the clock that all of them
// have the time from, so that tests can set it.
//
// The package makes no promise of compatibility to programs outside covey.
package routine

import "sync"

// Group is a group of goroutines. Unlike with a sync.WaitGroup, one may begin while Wait waits;
// once Wait has returned, none begins. The zero value is ready.
type Group struct {
	mu   sync.Mutex
	n    int
	none *sync.Cond // n is 0; nil: nobody waits
	over bool
}

// Go runs f in a goroutine of its own; false: it is too late, and f does not run.
func (g *Group) Go(f func()) bool {
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
func (g *Group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.none != nil {
		g.none.Broadcast()
	}
}

// Wait returns once no goroutine runs any more.
func (g *Group) Wait() {
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

// Signal leaves one signal in c, unless one waits there. It never blocks. c has room for one.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
