package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/program"
)

// errGone is why there is no connection if nothing else is known.
var errGone = errors.New("it closed the connection")

// client is the connection to one server. Its goroutine keeps it, from the first use on: it is the only
// one that connects, and that ends a connection. Others wait for what it makes (connected), and tell it
// what they found to be broken (lose). So two members that need a server at once start one program, and a
// server that keeps ending is started at a bounded rate, however many calls there are.
type client struct {
	settings.Server
	team *Clients

	listing chan struct{} // holds one element while a goroutine lists the tools
	over    chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	cancel context.CancelFunc // ends the goroutine; nil: there is none yet
	closed bool
	life   *life           // the connection; nil: there is none
	why    error           // why there is none; nil while one is being made
	since  time.Time       // when life and why changed last
	news   chan struct{}   // closed and replaced when life or why changes
	tools  []remoteTool    // as listed last
	said   map[string]bool // what reportOnce has said
}

// life is one connection, to one process if the server is a program. It is replaced as a whole, so that
// what was true of a connection that is gone is never believed of the next.
type life struct {
	session *sdk.ClientSession
	program *program.Process // nil: the server has a URL
	lost    chan struct{}    // closed when a call found that the connection is gone
	losing  sync.Once
	why     error       // why it was given up; valid after lost
	served  atomic.Bool // it has answered a call
	stale   atomic.Bool // its list of tools has changed since it was read

	mu      sync.Mutex
	callers map[string]*calling // the calls that run, by member
}

// calling is what a server does for one member.
type calling struct {
	n    int           // calls that run
	over chan struct{} // closed when the last has ended
}

// newClient makes the client of a server without starting the server.
func newClient(t *Clients, s settings.Server) *client {
	return &client{
		Server: s, team: t, listing: make(chan struct{}, 1), over: make(chan struct{}),
		news: make(chan struct{}),
		said: map[string]bool{},
	}
}

// use starts the client's goroutine if it is the first use.
func (c *client) use(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil || c.closed {
		return
	}
	// The server outlives the call that started it.
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.since = c.team.Clock.Now()
	go c.keep(ctx)
}

// keep connects to the server whenever there is no connection, until ctx ends.
//
// A server that ends is started again at once, because most are stopped by somebody, or by a fault of
// one call. If it ends again and has answered no call in between, there is a pause before each further
// start, and calls fail meanwhile: they would wait longer than their members want to.
func (c *client) keep(ctx context.Context) {
	defer close(c.over)
	said := "" // what people were told last, so that a server that stays away is reported once
	for failures := 0; ctx.Err() == nil; {
		began := c.team.Clock.Now()
		l, err := c.dial(ctx)
		if err == nil {
			if c.set(l, nil); said != "" {
				c.team.Warn("MCP server %s is connected again", c.Name)
			}
			said = ""
			err = c.watch(ctx, l)
			if l.served.Load() || c.team.Clock.Now().Sub(began) >= longLife {
				failures = 0
			}
		}
		if ctx.Err() != nil {
			break
		}
		pause, then := time.Duration(0), "covey connects again at once"
		why := err
		if failures++; failures > 1 || l == nil {
			pause = members.Backoff(max(failures-1, 1))
			then = fmt.Sprintf("covey tries again in %s", pause)
		} else {
			why = nil // calls wait for the next connection
		}
		c.set(nil, why)
		if text := err.Error(); text != said {
			said = text
			c.team.Warn("MCP server %s is not connected: %s; %s", c.Name, text, then)
		}
		select {
		case <-c.team.Clock.After(pause):
		case <-ctx.Done():
		}
	}
	c.set(nil, errEnding)
}

// watch waits until a connection has ended, or ctx has, and cleans up. It returns why the connection
// ended.
func (c *client) watch(ctx context.Context, l *life) error {
	gone := make(chan error, 1)
	go func() { gone <- l.session.Wait() }()
	var exited <-chan struct{}
	if l.program != nil {
		exited = l.program.Ended
	}
	var err error
	select {
	case err = <-gone:
		gone <- err
	case <-exited:
	case <-l.lost:
		err = l.why
	case <-ctx.Done():
		c.set(nil, errEnding)
		_ = l.session.Close() // waits for the calls under way; a server that is away already is fine
		if l.program != nil {
			_ = endProgram(l.program, nil)
		}
		<-gone
		return nil
	}
	c.set(nil, nil) // calls wait until it is clear whether the server starts again at once
	// The program ends first, with its children: one of them may hold its output open, and then the calls
	// under way, for which Close waits, would never learn of the end.
	if l.program != nil {
		err = endProgram(l.program, err)
	}
	_ = l.session.Close() // it is gone
	<-gone
	return cmp.Or(err, errGone)
}

// set records that there is a connection, or why there is none.
func (c *client) set(l *life, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life, c.why, c.since = l, why, c.team.Clock.Now()
	close(c.news)
	c.news = make(chan struct{})
}

// lose gives a connection up. Calls that come from now on wait for the next one, or learn why there is
// none. Of several that find the connection broken the first counts.
func (c *client) lose(l *life, why error) {
	l.losing.Do(func() {
		l.why = why
		close(l.lost)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == l {
		c.life, c.why, c.since = nil, nil, c.team.Clock.Now()
	}
}

// connected returns the connection, and waits for one that is being made. It does not wait while the
// server is down, that is, for the end of a pause.
func (c *client) connected(ctx context.Context) (*life, error) {
	c.use(ctx)
	for {
		c.mu.Lock()
		l, why, news, closed := c.life, c.why, c.news, c.closed
		c.mu.Unlock()
		switch {
		case closed:
			return nil, errEnding
		case l != nil:
			return l, nil
		case why != nil:
			return nil, why
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin records a call. The caller must call done at its end.
func (l *life) begin(member string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callers[member]
	if c == nil {
		c = &calling{over: make(chan struct{})}
		l.callers[member] = c
	}
	c.n++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.n--; c.n == 0 {
			delete(l.callers, member)
			close(c.over)
		}
	}
}

// caller returns the member whose calls run, and when they are over; empty if there are none, or calls
// of several. MCP does not say which call a server's question belongs to.
func (l *life) caller() (member string, over <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.callers) == 1 {
		for member, c := range l.callers {
			return member, c.over
		}
	}
	return "", nil
}

// close ends the server if it is connected, after its running calls. Later calls fail with
// errEnding.
func (c *client) close() {
	c.mu.Lock()
	c.closed = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
		<-c.over
	}
}

// state returns what people see of the server.
func (c *client) state() api.ServerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := api.ServerStatus{Name: c.Name, State: api.ServerConnecting, Tools: len(c.tools)}
	switch {
	case c.cancel == nil:
		s.State = api.ServerIdle
	case c.life != nil:
		s.State = api.ServerConnected
	case c.why != nil:
		s.State, s.Why = api.ServerDown, c.why.Error()
	}
	return s
}
