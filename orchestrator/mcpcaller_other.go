//go:build !linux

package orchestrator

import (
	"context"
	"net"
)

// speaksFor cannot find out here whose process has made a connection: whoever has
// the token of a member is taken for it.
func (p *Processes) speaksFor(context.Context, net.Conn, string) error { return nil }
