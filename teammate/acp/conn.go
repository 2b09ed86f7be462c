package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks/notation"
)

// errGone is what a call fails with whose program has ended.
var errGone = errors.New("the agent program has closed its connection")

// conn is the JSON-RPC connection to one program. It has two goroutines, which
// read and write, and which close waits for.
type conn struct {
	from io.ReadCloser
	to   io.WriteCloser
	in   *inbox
	gone chan struct{} // closed when nothing more can come

	heard   atomic.Int64 // messages that came and were signs of life
	dropped atomic.Int64 // lines that were too long
	replays atomic.Int64 // messages of a conversation that came while the inbox was shut
	running sync.WaitGroup

	mu      sync.Mutex
	session string // updates of other sessions are passed over; empty: none are
	last    int64
	calls   map[string]*call
	out     [][]byte      // what waits to be written
	wake    chan struct{} // holds a token while out may hold something
	closed  bool
}

// call is a request of ours.
type call struct {
	id      string
	ordered bool          // its answer goes through the inbox, behind what came before it
	done    chan struct{} // closed when it has its answer, or never will
	// result and err are set before done is closed, and never changed after.
	result json.RawMessage
	err    error // *rpcError, or errGone
}

// question is a permission that the program asks for.
type question struct {
	id     json.RawMessage
	params json.RawMessage
}

// newConn starts the two goroutines. The connection owns both ends from here
// on: close closes them, and nobody else may.
func newConn(from io.ReadCloser, to io.WriteCloser) *conn {
	c := &conn{
		from: from, to: to, in: newInbox(), gone: make(chan struct{}),
		calls: map[string]*call{}, wake: make(chan struct{}, 1),
	}
	c.running.Go(c.read)
	c.running.Go(c.write)
	return c
}

// close ends the connection. No goroutine of it runs when it returns. Calls
// that still wait fail with errGone. Closing twice is fine.
func (c *conn) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// The reader may wait for room in the inbox, the writer for the program to
	// read: each is freed before it is waited for.
	c.in.close()
	c.from.Close()
	c.to.Close()
	c.poke()
	c.running.Wait()
}

// read takes in messages until there are no more.
func (c *conn) read() {
	defer c.lose()
	lines := newLineReader(c.from, maxLine)
	for {
		line, tooLong, err := lines.next()
		if tooLong {
			c.dropped.Add(1)
		}
		if err != nil {
			return
		}
		if m, ok := decode(line); ok {
			if !m.tellsOfRetry() {
				c.heard.Add(1)
			}
			c.dispatch(m, len(line))
		}
	}
}

// lose fails every call that still waits: nobody will answer it. It runs last
// on the reader's goroutine, and once: gone is closed behind the calls, so that
// who sees gone finds every answer settled.
func (c *conn) lose() {
	c.mu.Lock()
	c.closed = true
	// Those in the inbox's order are not queued any more: their talk sees gone.
	for id, waiting := range c.calls {
		waiting.err = errGone
		delete(c.calls, id)
		close(waiting.done)
	}
	c.mu.Unlock()
	close(c.gone)
	c.poke()
}

// dispatch leads a message to where it belongs; size is that of its line, in
// bytes. It runs on the reader's goroutine, and may wait for room in the inbox:
// that is what slows down a program which sends faster than it is listened to.
// A question that finds the inbox shut is answered at once, or the program
// would wait for ever.
func (c *conn) dispatch(m message, size int) {
	switch {
	case m.Method == "":
		c.settle(m)
	case m.Method == "session/update":
		c.update(m.Params, size)
	case m.ID == nil: // a notification that we do not know
	case m.Method == "session/request_permission":
		if !c.in.push(news{question: &question{id: m.ID, params: m.Params}, size: size}) {
			c.reply(m.ID, cancelledOutcome())
		}
	default:
		c.refuse(m.ID, m.Method)
	}
}

// settle gives a call its answer. A second answer, a late one, and one to a
// question that nobody asked find no call.
func (c *conn) settle(m message) {
	c.mu.Lock()
	waiting, ok := c.calls[m.key()]
	delete(c.calls, m.key())
	c.mu.Unlock()
	if !ok || m.ID == nil {
		return
	}
	// done is closed before the answer is queued: who waits with a question for
	// a person is called off even while the inbox is full.
	waiting.result = m.Result
	if m.Error != nil {
		waiting.err = readError(m.Error)
	}
	close(waiting.done)
	if waiting.ordered {
		c.in.push(news{answer: waiting})
	}
}

// update passes an update of our session on. One without a session id counts as
// ours: programs with a single session leave it out.
func (c *conn) update(params json.RawMessage, size int) {
	var in struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	if json.Unmarshal(params, &in) != nil {
		return
	}
	c.mu.Lock()
	// Programs with helpers of their own tell of the helpers' sessions as well.
	foreign := in.SessionID != "" && c.session != "" && in.SessionID != c.session
	c.mu.Unlock()
	if !foreign && !c.in.push(news{update: in.Update, size: size}) {
		switch text(fieldsOf(in.Update)["sessionUpdate"]) {
		case "user_message_chunk", "agent_message_chunk":
			c.replays.Add(1)
		}
	}
}

// use makes id the session whose updates are taken in.
func (c *conn) use(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
}

// start sends a request. An ordered call has its answer in the inbox, behind
// the updates that came before it: the end of a prompt must not overtake its
// last words. The others are waited for with do. It never blocks.
func (c *conn) start(method string, params any, ordered bool) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errGone
	}
	// The number is given and the line queued under one lock, so that requests
	// leave in the order of their ids.
	c.last++
	request := &call{id: strconv.FormatInt(c.last, 10), ordered: ordered, done: make(chan struct{})}
	line, err := notation.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	c.calls[request.id] = request
	c.queue(line)
	return request, nil
}

// do sends a request and waits for its answer. The error is the program's
// *rpcError, errGone, or that of ctx; which of them decides whether a restart
// may help.
func (c *conn) do(ctx context.Context, method string, params any) (json.RawMessage, error) {
	request, err := c.start(method, params, false)
	if err != nil {
		return nil, err
	}
	select {
	case <-request.done:
		return request.result, request.err
	case <-ctx.Done():
		c.forget(request)
		return nil, context.Cause(ctx)
	}
}

// forget lets a late answer find no call.
func (c *conn) forget(request *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, request.id)
}

// notify sends a notification.
func (c *conn) notify(method string, params any) {
	c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// reply answers a request of the program.
func (c *conn) reply(id json.RawMessage, result any) {
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

// refuse answers a request that we do not serve: we offer no files, no
// terminals and no extensions.
func (c *conn) refuse(id json.RawMessage, method string) {
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": codeNoMethod, "message": "method not found: " + cut(method, 100),
	}})
}

// send queues a message. What cannot be sent any more has no reader either.
func (c *conn) send(v any) {
	line, err := notation.Marshal(v)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.queue(line)
	}
}

// queue adds a line to what waits to be written. Writing is for a goroutine of
// its own: a program that does not read while it writes would hang us both.
func (c *conn) queue(line []byte) {
	c.out = append(c.out, append(line, '\n'))
	c.poke()
}

// poke wakes the writer. The token is enough however often it is called: the
// writer takes all that waits, and looks at closed, each time.
func (c *conn) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write writes until the connection is closed, or the program stops reading. A
// program that has closed its stdin ends the writer only: what it still says is
// read, and the reader finds out by itself when that ends.
func (c *conn) write() {
	for range c.wake {
		c.mu.Lock()
		lines, closed := c.out, c.closed
		c.out = nil
		c.mu.Unlock()
		for _, line := range lines {
			if _, err := c.to.Write(line); err != nil {
				return
			}
		}
		if closed {
			return
		}
	}
}
