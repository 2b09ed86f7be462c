package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// mayUse returns an error that wraps auth.ErrInvalidToken if the connection of a
// request may not use the grant.
func (g *grant) mayUse(ctx context.Context) error {
	if err := g.processes.SpeaksOn(ctx, g.member); err != nil {
		return fmt.Errorf("%w: it is the token of %s and counts only from a process of that member: %w",
			auth.ErrInvalidToken, g.member, err)
	}
	return nil
}
