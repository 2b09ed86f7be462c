package accounts

import (
	"context"
	"slices"
	"sync"
)

// pool bounds how many members may be in a turn at once on one login, because vendors
// limit programs per account. Slots are given in order of arrival. A nil pool has no
// bound.
type pool struct {
	mu    sync.Mutex
	free  int
	queue []chan struct{} // waiters in order; closed when the slot is handed over
}

// acquire waits for a slot. release gives it back and may be called twice. waits is
// called only before a wait. It fails when ctx ends.
func (p *pool) acquire(ctx context.Context, waits func()) (release func(), err error) {
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

// take takes a slot at once, which may be more than there are: what has it runs already.
func (p *pool) take() (release func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free--
	return sync.OnceFunc(p.give)
}

// give hands a slot to the first waiter.
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

// leave removes a waiter from the queue. If it was just handed a slot, the next waiter
// gets it.
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

// unused returns the number of free slots.
func (p *pool) unused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free
}

// Resize changes the number of slots. Running turns continue: after a decrease as many
// must end before another begins.
func (p *pool) Resize(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.free += by; p.free > 0 && len(p.queue) > 0; p.free-- {
		close(p.queue[0])
		p.queue = p.queue[1:]
	}
}

// newPool returns a pool of n slots.
func newPool(n int) *pool { return &pool{free: n} }
