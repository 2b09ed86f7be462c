package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// Agent programs give up on a tool that does not answer for a minute (ACP.md), some forget
// a call that they have cancelled, and none can tell whether the call has had its effect.
// So a call that changes the team outlives the request that asked for it: once begun it goes
// on to its end, and its result is kept until somebody fetches it.
const (
	// answerWithin is how long a call may stay without an answer. With the way
	// to the agent it must stay below 45 s.
	answerWithin = 40 * time.Second
	// keepResults is how long a result waits for the repeat that fetches it.
	keepResults = 10 * time.Minute
	// maxBooked is how many calls of one member are under way or wait to be
	// fetched.
	maxBooked = 128
)

var (
	// errPending says that a call goes on and its result can be fetched later.
	errPending = errors.New("still checking")
	// errTooMany is for a member that has maxBooked calls under way.
	errTooMany = errors.New("too many calls are under way; wait for their results")
	// errEnding is for calls that come while the team ends.
	errEnding = errors.New("the team is ending")
)

// callBook has the calls of one member that change the team, from the moment
// they are asked for until the result is handed out. This is what makes a
// repeated call harmless:
//
//   - A call is a repeat of another one if it has the same key, which is made
//     of the tool, its arguments, and the name that the client gave the
//     request, if it gave any.
//   - While the other one is under way, or has a result that nobody got, the
//     repeat waits for that result or gets it. Nobody got a result when the
//     caller was told that the call is still being checked, when it cancelled
//     or hung up, or when the turn in which it asked was over by then.
//   - Once the result is handed out, the same call is a new one: a member that
//     was refused, mended its work and asks again wants to be judged again.
//     Only a call that the client named stays the same call for as long as it
//     is remembered; after that, and across restarts, the store's receipts
//     keep its effect single.
type callBook struct {
	within time.Duration // see answerWithin
	slot   chan struct{} // holds one element while a queued call runs

	mu     sync.Mutex
	calls  map[string]*bookedCall
	closed bool
	work   sync.WaitGroup
}

// bookedCall is one call; all but done and cancel is guarded by the book's mu,
// and result is fixed once done is closed.
type bookedCall struct {
	done    chan struct{}
	cancel  context.CancelCauseFunc
	result  agent.ToolResult
	begun   bool
	ended   time.Time // zero: under way
	waiting int       // requests that wait for the result
}

// request is what somebody asks a callBook for.
type request struct {
	key    string
	named  bool // the client has named the request: any repeat means this very call
	queued bool // calls like it run one after another
	run    func(context.Context) agent.ToolResult
	// listens says whether who asked can still be told the answer.
	listens func() bool
}

// newCallBook is an empty book; within is how long a caller waits for an answer
// before it is told to ask again.
func newCallBook(within time.Duration) *callBook {
	return &callBook{within: within, slot: make(chan struct{}, 1), calls: map[string]*bookedCall{}}
}

// do gives the result of a call, of this one or of the one that it repeats.
// Its error is errPending, errTooMany, errEnding, or ctx's: then the call goes
// on if it had begun, and else never happens.
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

// leave is for a request that has its answer, or goes without one.
func (b *callBook) leave(c *bookedCall, r request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.waiting--
	switch {
	case err == nil && !r.named && r.listens():
		b.forget(r.key, c)
	case err != nil && !errors.Is(err, errPending) && !c.begun && c.waiting == 0:
		c.cancel(err) // nobody wants it any more, and nothing of it has happened
		b.forget(r.key, c)
	}
}

// forget drops a call, unless a later one has its key by now.
func (b *callBook) forget(key string, c *bookedCall) {
	if b.calls[key] == c {
		delete(b.calls, key)
	}
}

// tidy drops results that nobody fetches: old ones, and the oldest when there
// are too many.
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

// begin waits for a call's turn; false when it was withdrawn before.
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

// close cuts off what is under way and waits for it; later calls fail with
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
