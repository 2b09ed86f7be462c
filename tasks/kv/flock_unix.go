//go:build unix && !solaris && !illumos && !aix

package kv

import (
	"errors"
	"os"
	"syscall"
)

// unlockFile gives back the lock that bbolt took. Closing the file does not: its mapping
// keeps it.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// ClaimFile takes the lock that bbolt takes, so that nobody writes into a file that is
// being looked at; nil: somebody else has it. Closing the file gives it back.
func ClaimFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, f.Close()
	}
	return nil, errors.Join(err, f.Close())
}
