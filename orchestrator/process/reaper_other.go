//go:build !linux

package process

import "context"

// BecomeReaper does nothing here: process 1 adopts orphans.
func BecomeReaper() error { return nil }

// Reap waits until ctx ends: there are no adopted orphans here.
func (p *Processes) Reap(ctx context.Context) { <-ctx.Done() }

// KillStrays does nothing here.
func (p *Processes) KillStrays(context.Context) []int { return nil }
