//go:build !linux

package process

// sameNamespace always returns true here: there are no such namespaces.
func sameNamespace(int) bool { return true }
