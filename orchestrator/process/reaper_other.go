//go:build !linux

package process

import "context"

// BecomeReaper does nothing here: orphans go to the system's first process.
func BecomeReaper() error { return nil }

// Reap waits until ctx ends: nothing is adopted here.
func (p *Processes) Reap(ctx context.Context) { <-ctx.Done() }

// KillStrays finds nothing here.
func (p *Processes) KillStrays(context.Context) []int { return nil }
