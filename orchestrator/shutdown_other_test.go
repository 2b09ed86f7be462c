//go:build !linux

package orchestrator

import "testing"

// sleepersIn finds nothing where processes cannot be listed.
func sleepersIn(*testing.T, string) []int { return nil }
