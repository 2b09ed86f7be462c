package mcp

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// All processes of the user can read the environment and the memory of a program,
// and so its token. Therefore a token is valid only on connections made by a
// process of its member.

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// connection is a connection to the team tools. It caches the search for the
// process that made it, which takes time.
type connection struct {
	conn net.Conn

	mu    sync.Mutex
	known map[string]error // by member: why it may not use the member's token; nil if it may
}

// withConnection is the http.Server.ConnContext of the team tools.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	c := &connection{conn: conn, known: map[string]error{}}
	if own, ok := conn.(memberConn); ok {
		c.known[own.member] = nil
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// memberListener is a listener that only processes of a member can reach.
type memberListener struct {
	net.Listener
	member string
}

// memberConn is a connection that a process of a member has made.
type memberConn struct {
	net.Conn
	member string
}

// Accept waits for the next connection.
func (l memberListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return memberConn{c, l.member}, nil
}

// mayUse returns an error that wraps auth.ErrInvalidToken if the connection of a
// request may not use the grant.
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
			return err // not cached, because the search was interrupted
		}
		conn.known[g.member] = err
	}
	return err
}
