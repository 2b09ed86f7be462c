//go:build !linux

package process

// carries finds nothing here: other processes' environments cannot be read.
func carries(int, string) bool { return false }

// KillMarked finds nothing here.
func KillMarked(string) []int { return nil }
