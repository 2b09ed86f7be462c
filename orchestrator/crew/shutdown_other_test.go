//go:build !linux

package crew_test

import "testing"

// sleepersIn finds nothing where processes cannot be listed.
func sleepersIn(*testing.T, string) []int { return nil }
