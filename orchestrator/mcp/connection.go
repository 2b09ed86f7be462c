package mcp

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// All processes of the user can read the environment and the memory of the program that has
// a token. So a token is valid only on connections that a process of its member has made.

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// connection is a connection to the team tools. The search for the process that made it
// takes time and is done once.
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
