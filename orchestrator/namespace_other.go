//go:build !linux

package orchestrator

// besideUs is always true here: there are no such namespaces.
func besideUs(int) bool { return true }
