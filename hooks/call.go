package hooks

import (
	"context"
	"fmt"
	"time"
)

// CallEnd describes how the call of a Registered callback ended.
type CallEnd struct {
	Answer  Answer
	Fault   string // why there is no answer; empty if there is one
	Removed bool   // it was removed before the call began and was not called
	Running bool   // it ignores its context and still runs
}

// Call calls the function. When ctx ends, Call waits at most grace for the function and
// then returns.
func (c *Registered) Call(ctx context.Context, in Input, grace time.Duration) CallEnd {
	one := c.registry.start(c.Label, func() bool { return !c.removed }, func(one *call) {
		one.answer, one.err = c.do(ctx, in)
	})
	switch {
	case one == nil:
		return CallEnd{Removed: true}
	case !one.wait(ctx, grace):
		return CallEnd{Running: true}
	}
	return CallEnd{Answer: one.answer, Fault: one.fault}
}

// call is one call of a callback. The fields below done are set once done is closed.
type call struct {
	name string
	done chan struct{}

	answer Answer
	fault  string // why there is no answer; empty if there is one
	err    error  // what the function returned
}

// start calls the function in a goroutine of its own, because a function that hangs must
// not block its event. Registry.Wait waits for it. start returns nil if the callback was
// removed.
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
		defer r.finish(c)
		c.run(do)
	}()
	return c
}

// run calls do and turns a panic, or an exit of the goroutine, into a fault.
func (c *call) run(do func(c *call)) {
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

// finish marks a call as finished.
func (r *Registry) finish(c *call) {
	r.mu.Lock()
	delete(r.running, c)
	r.mu.Unlock()
	close(c.done)
}

// wait reports whether the call ends before ctx, or within grace after it, which is enough
// for a function that respects its context.
func (c *call) wait(ctx context.Context, grace time.Duration) bool {
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
