package login

import (
	"context"
	"slices"
	"sync"
)

// pool bounds how many members may be in a turn at once on one login: vendors
// count the programs that run on an account. Who waits longest is next. nil
// bounds nothing.
type pool struct {
	mu    sync.Mutex
	free  int
	queue []chan struct{} // who waits, in order; closed when a slot is handed over
}

// Take waits for a slot. release gives it back; calling it twice does no harm.
// waits is called before a wait, and not without one. It fails when ctx ends.
func (p *pool) Take(ctx context.Context, waits func()) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return sync.OnceFunc(p.give), nil
	}
	turn := make(chan struct{})
	p.queue = append(p.queue, turn)
	p.mu.Unlock()
	waits()
	select {
	case <-turn:
		return sync.OnceFunc(p.give), nil
	case <-ctx.Done():
		p.leave(turn)
		return nil, context.Cause(ctx)
	}
}

// give hands a slot to whoever is next.
func (p *pool) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free < 0 || len(p.queue) == 0 {
		p.free++
		return
	}
	close(p.queue[0])
	p.queue = p.queue[1:]
}

// leave takes somebody out of the queue. A slot that was handed over at the
// same moment goes on to the next.
func (p *pool) leave(turn chan struct{}) {
	p.mu.Lock()
	i := slices.Index(p.queue, turn)
	if i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 {
		p.give()
	}
}

// Left is how many slots nobody has.
func (p *pool) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free
}

// Resize changes how many slots there are. Turns that have begun go on: where there
// are fewer now, that many must end before another begins.
func (p *pool) Resize(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.free += by; p.free > 0 && len(p.queue) > 0; p.free-- {
		close(p.queue[0])
		p.queue = p.queue[1:]
	}
}

// newPool makes so many slots.
func newPool(n int) *pool { return &pool{free: n} }
