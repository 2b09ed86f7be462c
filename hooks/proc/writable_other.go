//go:build !unix

package proc

import "os"

// Writable reports why no file can be created in dir. It creates one, because access rights
// do not tell on this system: a folder may be read-only by its access list, its volume or
// the program that guards it.
func Writable(dir string) error {
	f, err := os.CreateTemp(dir, ".covey-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
