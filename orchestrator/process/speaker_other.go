//go:build !linux

package process

import (
	"context"
	"net"
)

// SpeaksFor always succeeds here: the system does not tell which process made a
// connection, so the token of a member is sufficient.
func (p *Processes) SpeaksFor(context.Context, net.Conn, string) error { return nil }
