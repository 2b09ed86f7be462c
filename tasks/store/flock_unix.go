//go:build unix && !solaris && !illumos && !aix

package store

import (
	"errors"
	"os"
	"syscall"
)

// unlockFile releases the lock that bbolt took. Closing the file is not enough: its
// mapping keeps the lock.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// ClaimFile takes the lock that bbolt takes, so that nobody writes into a file that
// is being checked. It returns nil if the file is locked already. Closing the file
// releases the lock.
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
