//go:build unix

package state

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errLocked reports that another process holds a lock.
var errLocked = errors.New("locked")

// tryLock takes the lock on f, which ends with unlock or with the process.
func tryLock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// tryLockShared takes a lock that excludes only tryLock.
func tryLockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }

// unlock releases the lock on f. Closing f is not enough: a child process that another
// goroutine forks has the lock, too, until it runs its program.
func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// flock locks without blocking, and retries after a signal: the Go runtime often sends
// itself some.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkPrivate refuses a folder that belongs to another user, or that others can read.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w %s belongs to another user; set COVEY_STATE_HOME to one of your own", ErrFolder, dir)
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return fmt.Errorf("%w %s has mode %04o, so that others can read it; run `chmod 700` on it", ErrFolder, dir, m)
	}
	return nil
}
