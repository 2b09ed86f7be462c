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

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// errGone is the error of a call whose program has ended.
var errGone = errors.New("the agent program has closed its connection")

// conn is the JSON-RPC connection to one program. Two goroutines read and write; close
// waits for them.
type conn struct {
	from io.ReadCloser
	to   io.WriteCloser
	in   *inbox
	gone chan struct{} // closed when no more messages can arrive

	heard   atomic.Int64 // messages received that were signs of life
	dropped atomic.Int64 // lines that were too long
	replays atomic.Int64 // session updates received while the inbox was shut
	running sync.WaitGroup

	mu      sync.Mutex
	session string // updates of other sessions are ignored; empty: all are accepted
	last    int64
	calls   map[string]*call
	out     [][]byte      // lines waiting to be written
	wake    chan struct{} // has a token while out may hold lines
	closed  bool
}

// call is a request to the program.
type call struct {
	id      string
	ordered bool          // its answer goes through the inbox, after earlier updates
	done    chan struct{} // closed when it has its answer, or never will
	// result and err are set before done is closed, and do not change afterwards.
	result json.RawMessage
	err    error // *rpcError, or errGone
}

// question is a request for permission by the program.
type question struct {
	id     json.RawMessage
	params json.RawMessage
}

// newConn starts the two goroutines. The connection owns both ends and closes them in
// close.
func newConn(from io.ReadCloser, to io.WriteCloser) *conn {
	c := &conn{
		from: from, to: to, in: newInbox(), gone: make(chan struct{}),
		calls: map[string]*call{}, wake: make(chan struct{}, 1),
	}
	c.running.Go(c.read)
	c.running.Go(c.write)
	return c
}

// close ends the connection and its goroutines. Waiting calls fail with errGone. close may
// be called twice.
func (c *conn) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// The reader may wait for room in the inbox, and the writer for the program to read:
	// unblock both before waiting for them.
	c.in.close()
	c.from.Close()
	c.to.Close()
	c.wakeWriter()
	c.running.Wait()
}

// read dispatches messages until the stream ends.
func (c *conn) read() {
	defer c.failCalls()
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
			if !m.isRetryNotice() {
				c.heard.Add(1)
			}
			c.dispatch(m, len(line))
		}
	}
}

// failCalls fails every waiting call. It runs once, last on the reader's goroutine. It closes
// gone after the calls, so that a receiver of gone finds every call finished.
func (c *conn) failCalls() {
	c.mu.Lock()
	c.closed = true
	// Ordered calls are not queued in the inbox: their talk sees gone.
	for id, waiting := range c.calls {
		waiting.err = errGone
		delete(c.calls, id)
		close(waiting.done)
	}
	c.mu.Unlock()
	close(c.gone)
	c.wakeWriter()
}

// dispatch routes a message; size is the length of its line in bytes. It runs on the
// reader's goroutine and may wait for room in the inbox, which slows down a program that
// sends faster than it is read. A question that finds the inbox shut is answered at once,
// because the program would wait for ever.
func (c *conn) dispatch(m message, size int) {
	switch {
	case m.Method == "":
		c.deliver(m)
	case m.Method == "session/update":
		c.update(m.Params, size)
	case m.ID == nil: // an unknown notification
	case m.Method == "session/request_permission":
		if !c.in.push(news{question: &question{id: m.ID, params: m.Params}, size: size}) {
			c.reply(m.ID, cancelledOutcome())
		}
	default:
		c.refuse(m.ID, m.Method)
	}
}

// deliver delivers the answer of a call. It ignores a second answer, a late one, and one to
// an unknown request.
func (c *conn) deliver(m message) {
	c.mu.Lock()
	waiting, ok := c.calls[m.key()]
	delete(c.calls, m.key())
	c.mu.Unlock()
	if !ok || m.ID == nil {
		return
	}
	// done is closed before the answer is queued, so that a waiting question to a person
	// is cancelled even while the inbox is full.
	waiting.result = m.Result
	if m.Error != nil {
		waiting.err = readError(m.Error)
	}
	close(waiting.done)
	if waiting.ordered {
		c.in.push(news{answer: waiting})
	}
}

// update queues an update of our session. An update without a session id counts as ours,
// because programs with a single session omit it.
func (c *conn) update(params json.RawMessage, size int) {
	var in struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	if json.Unmarshal(params, &in) != nil {
		return
	}
	c.mu.Lock()
	// Programs with helpers of their own also report the helpers' sessions.
	foreign := in.SessionID != "" && c.session != "" && in.SessionID != c.session
	c.mu.Unlock()
	if !foreign && !c.in.push(news{update: in.Update, size: size}) {
		switch texts.Text(program.Fields(in.Update)["sessionUpdate"]) {
		case "user_message_chunk", "agent_message_chunk":
			c.replays.Add(1)
		}
	}
}

// use sets the session whose updates are accepted.
func (c *conn) use(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
}

// start sends a request. The answer of an ordered call goes through the inbox, after the
// updates that came before it, so that the end of a prompt does not overtake its last
// text. Wait for other calls with do. start never blocks.
func (c *conn) start(method string, params any, ordered bool) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errGone
	}
	// The number is assigned and the line queued under one lock, so that requests are
	// sent in the order of their ids.
	c.last++
	request := &call{id: strconv.FormatInt(c.last, 10), ordered: ordered, done: make(chan struct{})}
	line, err := texts.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	c.calls[request.id] = request
	c.queue(line)
	return request, nil
}

// do sends a request and waits for its answer. The error is the program's *rpcError,
// errGone, or that of ctx; the caller decides by it whether to restart.
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

// forget drops a call, so that a late answer is ignored.
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

// refuse answers a request that covey does not serve: it offers no files, terminals or
// extensions.
func (c *conn) refuse(id json.RawMessage, method string) {
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": codeNoMethod, "message": "method not found: " + program.Shorten(method, 100),
	}})
}

// send queues a message. After the connection is closed it does nothing.
func (c *conn) send(v any) {
	line, err := texts.Marshal(v)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.queue(line)
	}
}

// queue adds a line for the writer. Writing has its own goroutine, because a program that
// does not read while it writes would block both sides.
func (c *conn) queue(line []byte) {
	c.out = append(c.out, append(line, '\n'))
	c.wakeWriter()
}

// wakeWriter wakes the writer. One token is enough, because the writer takes all lines and checks
// closed each time.
func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write writes until the connection is closed or the program stops reading. If the program
// closes its stdin only the writer ends; the reader continues until the output ends.
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
