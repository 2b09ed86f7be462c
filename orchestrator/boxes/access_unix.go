//go:build unix

package boxes

import "golang.org/x/sys/unix"

// mayAccess reports whether this process itself may read a file, or write it or make it.
func mayAccess(path string, write bool) bool {
	if write {
		return unix.Access(parent(path), unix.W_OK) == nil
	}
	return unix.Access(path, unix.R_OK) == nil
}
