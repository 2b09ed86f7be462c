package hooks

import (
	"context"
	"fmt"
	"time"
)

// CallEnd says how the call of a Registered callback ended.
type CallEnd struct {
	Answer  Answer
	Fault   string // why there is no answer; empty: there is one
	Removed bool   // it was removed before the call began, and not called
	Running bool   // it does not heed its context, and still runs
}

// Call calls the function. When ctx has ended, Call waits for grace more and
// then returns, whether the function has or not.
func (c *Registered) Call(ctx context.Context, in Input, grace time.Duration) CallEnd {
	one := c.registry.start(c.Label, func() bool { return !c.removed }, func(one *call) {
		one.answer, one.err = c.do(ctx, in)
	})
	switch {
	case one == nil:
		return CallEnd{Removed: true}
	case !one.finished(ctx, grace):
		return CallEnd{Running: true}
	}
	return CallEnd{Answer: one.answer, Fault: one.fault}
}

// call is one call of a callback. What stands below done is complete once that
// is closed.
type call struct {
	name string
	done chan struct{}

	answer Answer
	fault  string // why there is no answer; empty: there is one
	err    error  // what the function returned
}

// start calls the function in a goroutine of its own, which belongs to the
// registry: a function that hangs must not hold up its event. It returns nil if
// the callback was removed.
func (r *Registry) start(name string, live func() bool, do func(c *call)) *call {
	c := &call{name: name, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !live() {
		return nil
	}
	if r.running == nil {
		r.running = map[*call]bool{}
	}
	r.running[c] = true
	go func() {
		defer r.ended(c)
		c.contain(do)
	}()
	return c
}

// contain calls do. Whatever it does in its goroutine, the team goes on.
func (c *call) contain(do func(c *call)) {
	c.fault = "the callback ended its goroutine instead of returning" // unless do returns
	defer func() {
		if cause := recover(); cause != nil {
			c.fault = fmt.Sprintf("the callback panicked: %v", cause)
		}
	}()
	do(c)
	c.fault = ""
	if c.err != nil {
		c.fault = "the callback failed: " + c.err.Error()
	}
}

// ended notes that a call is over.
func (r *Registry) ended(c *call) {
	r.mu.Lock()
	delete(r.running, c)
	r.mu.Unlock()
	close(c.done)
}

// finished waits for the call, and when ctx has ended for grace more: enough
// for a function that heeds its context.
func (c *call) finished(ctx context.Context, grace time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}
