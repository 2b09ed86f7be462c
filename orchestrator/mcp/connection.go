package mcp

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

// connectionKey is under what the context of a request has its connection.
type connectionKey struct{}

// connection is a connection to the team tools. Whose process made it is found out
// once, because a connection does not change hands and the search takes time.
type connection struct {
	conn net.Conn

	mu    sync.Mutex
	known map[string]error // by member: why it may not speak for it; nil: it may
}

// withConnection is the http.Server.ConnContext of the team tools.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{conn: conn, known: map[string]error{}})
}

// mayUse says whether the connection that a request came on may use the grant. Its error
// wraps auth.ErrInvalidToken.
func (g *grant) mayUse(ctx context.Context) error {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return fmt.Errorf("%w: nobody knows what connection it came on", auth.ErrInvalidToken)
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	err, known := conn.known[g.member]
	if !known {
		if err = g.processes.SpeaksFor(ctx, conn.conn, g.member); err != nil {
			err = fmt.Errorf("%w: it is the token of %s and counts only from a process of that member: %w",
				auth.ErrInvalidToken, g.member, err)
		}
		if ctx.Err() != nil {
			return err // the search was cut short: it says nothing of the connection
		}
		conn.known[g.member] = err
	}
	return err
}
