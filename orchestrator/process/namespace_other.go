//go:build !linux

package process

// besideUs is always true here: there are no such namespaces.
func besideUs(int) bool { return true }
