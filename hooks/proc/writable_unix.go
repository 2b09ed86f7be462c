//go:build unix

package proc

import "golang.org/x/sys/unix"

// Writable reports why no file can be created in dir, without creating one.
func Writable(dir string) error {
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}
