package orchestrator

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A token of the team tools can be read by whoever may read the environment or the
// memory of the program that has it, which are all processes of the user. So it counts
// only for connections that a process below its member has made.

// mcpCallerKey is under what the context of a request has its mcpCaller.
type mcpCallerKey struct{}

// mcpCaller is a connection to the team tools. Whose process made it is found out
// once, because a connection does not change hands and the search takes time.
type mcpCaller struct {
	conn net.Conn

	mu    sync.Mutex
	known map[string]error // by member: why it may not speak for it; nil: it may
}

// withCaller is the http.Server.ConnContext of the team tools.
func withCaller(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, mcpCallerKey{}, &mcpCaller{conn: conn, known: map[string]error{}})
}

// mayUse says whether the connection that a request came on may use the grant. Its error
// wraps auth.ErrInvalidToken.
func (g *grant) mayUse(ctx context.Context) error {
	caller, ok := ctx.Value(mcpCallerKey{}).(*mcpCaller)
	if !ok {
		return fmt.Errorf("%w: nobody knows what connection it came on", auth.ErrInvalidToken)
	}
	caller.mu.Lock()
	defer caller.mu.Unlock()
	err, known := caller.known[g.member]
	if !known {
		if err = g.processes.SpeaksFor(ctx, caller.conn, g.member); err != nil {
			err = fmt.Errorf("%w: it is the token of %s and counts only from a process of that member: %w",
				auth.ErrInvalidToken, g.member, err)
		}
		if ctx.Err() != nil {
			return err // the search was cut short: it says nothing of the connection
		}
		caller.known[g.member] = err
	}
	return err
}
