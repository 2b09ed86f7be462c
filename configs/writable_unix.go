//go:build unix

package configs

import "golang.org/x/sys/unix"

// writable reports why no file can be created in dir, without creating one.
func writable(dir string) error {
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}
