package api

import (
	"context"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

// MaxCallerConns is how many connections to the control socket a member may have, or whoever else is
// not the operator. A command has one.
const MaxCallerConns = 32

// Server answers the requests that come in over the bus.
type Server struct {
	checks Checks

	mu       sync.Mutex
	attached map[bus.ConnID]bool // the connections of operators who watch
	watchers sync.WaitGroup      // ends when the bus is closed
}

// Checks are asked before a request is carried out on somebody's behalf. An error of theirs
// refuses the request.
type Checks struct {
	// Member is asked about requests that a process of a member's tool makes, or a hook that
	// may act.
	Member func(ctx context.Context, member string, req any) error
	// Hook gives the context for a request that a hook's process makes.
	Hook func(context.Context, process.Caller) (context.Context, error)
}

// check asks about one request, and gives the context to carry it out in.
func (c Checks) check(ctx context.Context, by process.Caller, r any) (context.Context, error) {
	// A hook's call is made inside of the hook: hooks that are asked about it are so, too.
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

// Serve begins to answer requests. Close the bus to end it; no handler runs any more once that
// has returned. Then call Wait.
func Serve(b *bus.Bus, checks Checks, handlers ...Handler) (*Server, error) {
	s := &Server{checks: checks, attached: map[bus.ConnID]bool{}}
	for _, h := range handlers {
		if err := h.register(s, b); err != nil {
			return nil, fmt.Errorf("control: %w", err)
		}
	}
	if _, err := bus.RefuseOthers(b); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return s, nil
}

// Wait returns once nothing of the server runs any more; the bus must have been closed.
func (s *Server) Wait() { s.watchers.Wait() }

// Attached is how many operators are attached now: while there is one, there
// is somebody to ask.
func (s *Server) Attached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.attached)
}

// watch counts a connection as attached until it is gone.
func (s *Server) watch(from bus.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached[from.Conn] {
		return
	}
	s.attached[from.Conn] = true
	s.watchers.Go(func() {
		<-from.Gone()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attached, from.Conn)
	})
}
