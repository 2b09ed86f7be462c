package web

import (
	"errors"
	"net"
	"syscall"
)

// errnoName returns a failed operation as recorded hosts report it, such as
// "connect ECONNREFUSED 127.0.0.1:9", or "" for an error of another kind.
func errnoName(op *net.OpError) string {
	names := []struct {
		number syscall.Errno
		name   string
	}{
		{syscall.ECONNREFUSED, "ECONNREFUSED"}, {syscall.ECONNRESET, "ECONNRESET"},
		{syscall.EHOSTUNREACH, "EHOSTUNREACH"}, {syscall.ENETUNREACH, "ENETUNREACH"},
		{syscall.ETIMEDOUT, "ETIMEDOUT"}, {syscall.EPIPE, "EPIPE"},
	}
	for _, n := range names {
		switch {
		case !errors.Is(op, n.number):
		// After the connection stands, recorded hosts name the operation alone.
		case op.Op != "dial":
			return op.Op + " " + n.name
		// With an address, because a name may lead to several and the text is
		// all that people have to find the one that refused.
		case op.Addr != nil:
			return "connect " + n.name + " " + op.Addr.String()
		}
	}
	return ""
}
