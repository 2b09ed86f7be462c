package api

import (
	"context"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

// MaxCallerConns limits the connections to the control socket of each caller
// other than the operator. A command has one.
const MaxCallerConns = 32

// Server answers requests over the bus.
type Server struct {
	mu       sync.Mutex
	attached map[bus.ConnID]bool // the connections of attached operators
	reached  bool                // there has been one
	watchers sync.WaitGroup      // ends when the bus is closed
}

// Checks run before a request is carried out on somebody's behalf. If one returns
// an error, the request is refused with it.
type Checks struct {
	// Member checks a request from a process of a member's tool, or of a hook
	// with may_act.
	Member func(ctx context.Context, member string, req any) error
	// Hook returns the context for a request from a hook's process.
	Hook func(context.Context, process.Caller) (context.Context, error)
}

// check checks one request, and returns the context to carry it out in.
func (c Checks) check(ctx context.Context, by process.Caller, r any) (context.Context, error) {
	// The hooks that the request runs are nested in the hook that makes it.
	if by.IsHook() {
		var err error
		if ctx, err = c.Hook(ctx, by); err != nil {
			return ctx, err
		}
	}
	if by.Kind == process.MemberTool || by.Kind == process.ActingHook {
		return ctx, c.Member(ctx, by.Member, r)
	}
	return ctx, nil
}

// NewServer returns a server that answers nothing until Serve is called.
func NewServer() *Server { return &Server{attached: map[bus.ConnID]bool{}} }

// Serve begins to answer requests that pass the checks; it is called once. To end it, close the bus, which
// waits for the running handlers, and then call Wait.
func (s *Server) Serve(b *bus.Bus, checks Checks, handlers ...Handler) error {
	for _, h := range handlers {
		if err := h.register(s, checks, b); err != nil {
			return fmt.Errorf("control: %w", err)
		}
	}
	if _, err := bus.RefuseOthers(b); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}

// Wait waits until all goroutines of the server have ended. The bus must have
// been closed.
func (s *Server) Wait() { s.watchers.Wait() }

// Reached reports whether an operator is or was attached, and so knows of the team.
func (s *Server) Reached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached
}

// Attached returns how many operators are attached. They can answer questions.
func (s *Server) Attached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.attached)
}

// watch counts a connection as attached until it is closed.
func (s *Server) watch(from bus.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached[from.Conn] {
		return
	}
	s.attached[from.Conn], s.reached = true, true
	s.watchers.Go(func() {
		<-from.Gone()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attached, from.Conn)
	})
}
