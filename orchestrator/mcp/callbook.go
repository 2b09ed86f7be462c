package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// Agent programs time out when a tool does not answer for a minute (ACP.md), some
// drop a call that they have canceled, and none can tell whether the call has had
// its effect. So a call that changes the team outlives its request: once begun it
// runs to its end, and its result is kept until a request fetches it.
const (
	// answerWithin limits the time until a call is answered. With the transfer to
	// the agent the total must stay below 45 s.
	answerWithin = 40 * time.Second
	// keepResults is how long a result is kept for a repeated call.
	keepResults = 10 * time.Minute
	// maxBooked limits the running calls and the kept results of one member.
	maxBooked = 128
)

var (
	// errPending is returned for a call that continues. Its result can be fetched
	// later.
	errPending = errors.New("still checking")
	// errTooMany is returned to a member with maxBooked running calls.
	errTooMany = errors.New("too many calls are under way; wait for their results")
	// errEnding is returned for calls while the team ends.
	errEnding = errors.New("the team is ending")
)

// callBook holds the calls of one member that change the team, from the request until the
// result is delivered. It makes repeated calls harmless:
//
//   - A call repeats another one if it has the same key, which consists of the tool, the
//     arguments, and the client's name for the request, if there is one.
//   - While the other call is running, or its result is undelivered, the repeat gets that
//     result. A result is undelivered if the caller was told that the call is still being
//     checked, if it canceled or disconnected, or if the turn of its request was over.
//   - After the result is delivered, the same call is a new one: a member that was refused and
//     has improved its work wants to be judged again. A call that the client named stays the
//     same call while it is remembered. After that, and after a restart, the store's receipts
//     prevent a second effect.
type callBook struct {
	within time.Duration // see answerWithin
	slot   chan struct{} // holds one element while a queued call runs

	mu     sync.Mutex
	calls  map[string]*bookedCall
	closed bool
	work   sync.WaitGroup
}

// bookedCall is one call. The book's mu guards all fields except done and cancel,
// and result does not change after done is closed.
type bookedCall struct {
	done    chan struct{}
	cancel  context.CancelCauseFunc
	result  agent.ToolResult
	begun   bool
	ended   time.Time // zero while it is running
	waiting int       // requests that wait for the result
}

// request is a request for a call in a callBook.
type request struct {
	key    string
	named  bool // the client has named the request: any repeat means this very call
	queued bool // calls like it run one after another
	waits  bool // it has no effect that must go on when nobody waits for its result
	run    func(context.Context) agent.ToolResult
	// listens returns whether who asked can still be told the answer.
	listens func() bool
}

// newCallBook makes an empty book. within is how long a caller waits for an
// answer before it is told to ask again.
func newCallBook(within time.Duration) *callBook {
	return &callBook{within: within, slot: make(chan struct{}, 1), calls: map[string]*bookedCall{}}
}

// do returns the result of a call, or of the call that it repeats. Its error is
// errPending, errTooMany, errEnding, or ctx's. After an error a call that has
// begun continues, unless it only waits, and any other call never runs.
func (b *callBook) do(ctx context.Context, r request) (agent.ToolResult, error) {
	c, err := b.join(ctx, r)
	if err != nil {
		return agent.ToolResult{}, err
	}
	timer := time.NewTimer(b.within)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		err = errPending
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	b.leave(c, r, err)
	if err != nil {
		return agent.ToolResult{}, err
	}
	return c.result, nil
}

// join finds the call that r repeats, or begins one.
func (b *callBook) join(ctx context.Context, r request) (*bookedCall, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errEnding
	}
	b.tidy(time.Now())
	c, ok := b.calls[r.key]
	if !ok {
		if len(b.calls) >= maxBooked {
			return nil, errTooMany
		}
		// The work outlives the request; close ends it.
		work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		c = &bookedCall{done: make(chan struct{}), cancel: cancel}
		b.calls[r.key] = c
		b.work.Go(func() { b.carryOut(work, c, r) })
	}
	c.waiting++
	return c, nil
}

// leave ends a request, with or without its answer.
func (b *callBook) leave(c *bookedCall, r request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.waiting--
	switch {
	case err == nil && !r.named && r.listens():
		b.forget(r.key, c)
	case err != nil && !errors.Is(err, errPending) && (!c.begun || r.waits) && c.waiting == 0:
		c.cancel(err) // no request waits for it, and it has not begun or only waits
		b.forget(r.key, c)
	}
}

// forget drops a call, unless a later one has its key.
func (b *callBook) forget(key string, c *bookedCall) {
	if b.calls[key] == c {
		delete(b.calls, key)
	}
}

// tidy drops results older than keepResults, and the oldest ones if there are too
// many.
func (b *callBook) tidy(now time.Time) {
	var oldest string
	for key, c := range b.calls {
		switch {
		case c.ended.IsZero() || c.waiting > 0:
		case now.Sub(c.ended) > keepResults:
			delete(b.calls, key)
		case oldest == "" || c.ended.Before(b.calls[oldest].ended):
			oldest = key
		}
	}
	if len(b.calls) >= maxBooked && oldest != "" {
		delete(b.calls, oldest)
	}
}

// carryOut runs a call to its end.
func (b *callBook) carryOut(ctx context.Context, c *bookedCall, r request) {
	defer c.cancel(nil)
	result := agent.ToolResult{Content: "The call was withdrawn before it began.", IsError: true}
	if b.begin(ctx, c, r.queued) {
		result = agent.Contained(ctx, r.run)
		if r.queued {
			<-b.slot
		}
	}
	b.mu.Lock()
	c.result, c.ended = result, time.Now()
	b.mu.Unlock()
	close(c.done)
}

// begin waits until a call may run. It returns false if the call was canceled
// before.
func (b *callBook) begin(ctx context.Context, c *bookedCall, queued bool) bool {
	if queued {
		select {
		case b.slot <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.begun = ctx.Err() == nil; !c.begun && queued {
		<-b.slot
	}
	return c.begun
}

// close cancels the running calls and waits for them. Later calls fail with
// errEnding. It may be called more than once.
func (b *callBook) close() {
	b.mu.Lock()
	b.closed = true
	for _, c := range b.calls {
		c.cancel(errEnding)
	}
	b.mu.Unlock()
	b.work.Wait()
}
