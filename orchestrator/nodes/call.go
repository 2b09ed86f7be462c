package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// Times are the durations of a connection. The zero value has the usual ones.
type Times struct {
	Beat   time.Duration // between two signs of life; 0: 2 s
	Away   time.Duration // the silence after which a node is away; 0: 30 s
	Lost   time.Duration // the silence after which it is lost; 0: 60 s
	Repeat time.Duration // the first pause before an unanswered message is sent again; 0: 5 s
}

// defaults returns the times with the usual ones in place of zeros.
func (t Times) defaults() Times {
	for _, d := range []struct {
		d     *time.Duration
		usual time.Duration
	}{{&t.Beat, 2 * time.Second}, {&t.Away, 30 * time.Second}, {&t.Lost, time.Minute}, {&t.Repeat, 5 * time.Second}} {
		if *d.d == 0 {
			*d.d = d.usual
		}
	}
	return t
}

// ErrGone means that a node does not carry what it carried: it was silent for too long, has been
// started anew, or has left.
var ErrGone = errors.New("the node is gone")

// longest is the longest pause before an unanswered message is sent again, in pauses of Times.Repeat.
const longest = 12

// caller sends calls, which are requests or orders, and waits for their answers.
type caller struct {
	send   func(message) error
	errors Errors
	repeat time.Duration
	places chan struct{} // one for each call that may wait

	mu   sync.Mutex
	last uint64
	open map[uint64]*waiting
	over []uint64 // those that the other side has not been told of
}

// waiting is a call without an answer.
type waiting struct {
	answer chan message
	again  chan struct{}
}

func newCaller(send func(message) error, known Errors, repeat time.Duration, most int) *caller {
	return &caller{send: send, errors: known, repeat: repeat, places: make(chan struct{}, most), open: map[uint64]*waiting{}}
}

// call sends a call until it is answered, gone is closed, or ctx ends.
func (c *caller) call(ctx context.Context, m message, gone <-chan struct{}) (json.RawMessage, error) {
	if err := check(m.Body); err != nil {
		return nil, err
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-gone:
		return nil, ErrGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w := &waiting{answer: make(chan message, 1), again: make(chan struct{}, 1)}
	c.mu.Lock()
	c.last++
	m.Number = c.last
	c.open[m.Number] = w
	c.mu.Unlock()
	defer c.forget(m.Number)
	for pause := c.repeat; ; {
		c.tell(m)
		timer := time.NewTimer(pause)
		select {
		case a := <-w.answer:
			timer.Stop()
			if a.Fault != nil {
				return nil, c.errors.error(a.Fault)
			}
			return a.Body, nil
		case <-w.again:
			pause = c.repeat
		case <-timer.C:
			pause = min(2*pause, longest*c.repeat)
		case <-gone:
			timer.Stop()
			return nil, ErrGone
		case <-ctx.Done():
			timer.Stop()
			c.tell(message{Number: m.Number, Cancel: true})
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// tell sends a message, and which calls are over. What is lost is sent again, except for these: the
// other side forgets them later by itself.
func (c *caller) tell(m message) {
	c.mu.Lock()
	m.Low = c.last + 1
	for n := range c.open {
		m.Low = min(m.Low, n)
	}
	m.Over, c.over = c.over, nil
	c.mu.Unlock()
	_ = c.send(m)
}

func (c *caller) forget(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, number)
	c.over = append(c.over, number)
}

// answered takes an answer.
func (c *caller) answered(a message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.open[a.Number]; w != nil {
		select {
		case w.answer <- a:
		default: // it came twice
		}
	}
}

// resume sends all calls again at once, because the other side is there again or is another one.
func (c *caller) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.open {
		select {
		case w.again <- struct{}{}:
		default:
		}
	}
}

// callee carries out the calls of one process of the other side, each once.
type callee struct {
	errors Errors
	handle func(context.Context, message) (json.RawMessage, error)

	mu    sync.Mutex
	group sync.WaitGroup
	send  func(message) error
	most  int    // calls that are carried out at the same time, and answers that are kept
	from  string // the other side's process
	low   uint64
	calls map[uint64]*carried
	kept  []uint64 // calls with an answer, the oldest first
}

// carried is a call that is carried out, or whose answer may be asked for again.
type carried struct {
	cancel context.CancelFunc
	answer *message // nil: there is none yet
}

// begin forgets the calls of another process than from, and cancels those that are carried out.
func (c *callee) begin(from string, most int, send func(message) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
	if c.from == from && c.calls != nil {
		return
	}
	for _, k := range c.calls {
		k.cancel()
	}
	c.from, c.send, c.low, c.calls, c.kept = from, send, 0, map[uint64]*carried{}, nil
}

// take takes a call of a process. Calls that are too many are dropped: they come again.
func (c *callee) take(ctx context.Context, from string, m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from != c.from || c.calls == nil || ctx.Err() != nil {
		return
	}
	c.end(m)
	k := c.calls[m.Number]
	switch {
	case m.Number < c.low:
	case m.Cancel && k != nil:
		k.cancel()
	case m.Cancel:
	case k != nil && k.answer != nil:
		_ = c.send(*k.answer)
	case k != nil: // it is carried out
	case len(c.calls)-len(c.kept) < c.most:
		inner, cancel := context.WithCancel(ctx)
		k = &carried{cancel: cancel}
		c.calls[m.Number] = k
		c.group.Go(func() { c.carryOut(inner, k, m) })
	}
}

// end forgets the calls that are over according to a message. mu must be held.
func (c *callee) end(m message) {
	c.low = max(c.low, m.Low)
	for n, k := range c.calls {
		if n < c.low || slices.Contains(m.Over, n) {
			k.cancel()
			delete(c.calls, n)
		}
	}
	c.kept = slices.DeleteFunc(c.kept, func(n uint64) bool { return c.calls[n] == nil })
}

// carryOut carries out a call and answers it.
func (c *callee) carryOut(ctx context.Context, k *carried, m message) {
	defer k.cancel()
	answer := message{Number: m.Number}
	result, err := c.handle(ctx, m)
	if ctx.Err() != nil { // nobody waits, or this process ends and has not done it
		return
	}
	if err == nil {
		answer.Body, err = result, check(result)
	}
	if err != nil {
		answer.Body, answer.Fault = nil, c.errors.fault(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[m.Number] != k { // the other side no longer waits
		return
	}
	k.answer = &answer
	_ = c.send(answer) // it is sent again when it is asked for again
	if c.kept = append(c.kept, m.Number); len(c.kept) > c.most {
		delete(c.calls, c.kept[0])
		c.kept = c.kept[1:]
	}
}
