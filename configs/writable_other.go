//go:build !unix

package configs

import "os"

// writable reports why no file can be created in dir. It creates one, because access rights
// do not tell on this system.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".covey-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
