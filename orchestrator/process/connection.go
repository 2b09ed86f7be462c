package process

import (
	"context"
	"errors"
	"net"
	"sync"
)

// All processes of the user can read the environment and the memory of a program,
// and so a token in it. Therefore a token is valid only on connections made by a
// process of its member.

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// connection is a connection to a server of the team. It caches the search for the
// process that made it, which takes time.
type connection struct {
	conn net.Conn

	mu    sync.Mutex
	known map[string]error // by member: why it does not speak for the member; nil if it does
}

// WithConnection is the http.Server.ConnContext of a server whose requests SpeaksOn tells apart.
func WithConnection(ctx context.Context, conn net.Conn) context.Context {
	c := &connection{conn: conn, known: map[string]error{}}
	if own, ok := conn.(memberConn); ok {
		c.known[own.member] = nil
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// MemberListener returns a listener that only processes of a member can reach, for a server with
// WithConnection.
func MemberListener(l net.Listener, member string) net.Listener { return memberListener{l, member} }

// memberListener is MemberListener.
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

// SpeaksOn is SpeaksFor for the connection of a request, which has the context ctx.
func (p *Processes) SpeaksOn(ctx context.Context, member string) error {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return errors.New("nobody knows what connection it came on")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err, known := c.known[member]
	if !known {
		err = p.SpeaksFor(ctx, c.conn, member)
		if ctx.Err() != nil {
			return err // not cached, because the search was interrupted
		}
		c.known[member] = err
	}
	return err
}
