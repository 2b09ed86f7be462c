//go:build !linux

package store

// lockHolder finds the process that has the file open; only Linux reports it.
func lockHolder(string) (pid int, ok bool) { return 0, false }
