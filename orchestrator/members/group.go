package members

import "sync"

// Group is a group of goroutines. Unlike with a sync.WaitGroup, new ones may start during
// Wait; after Wait has returned, none starts. The zero value is ready to use.
type Group struct {
	mu   sync.Mutex
	n    int
	none *sync.Cond // signals that n is 0; nil: no Wait
	over bool
}

// Go runs f in a new goroutine. After Wait has returned it returns false without running
// f.
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

// done records that a goroutine has ended.
func (g *Group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.none != nil {
		g.none.Broadcast()
	}
}

// Wait returns once no goroutine of the group runs.
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

// Signal sends to c, which must have room for one signal, unless one is pending. It never
// blocks.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
