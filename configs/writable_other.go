//go:build !unix

package configs

import "os"

// writable reports why no file can be made in dir. Access rights are no use
// for telling here, so it makes one.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".covey-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
