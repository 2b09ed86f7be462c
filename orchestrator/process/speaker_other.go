//go:build !linux

package process

import (
	"context"
	"net"
)

// SpeaksFor cannot find out here whose process has made a connection: whoever has
// the token of a member is taken for it.
func (p *Processes) SpeaksFor(context.Context, net.Conn, string) error { return nil }
