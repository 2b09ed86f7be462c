//go:build unix

package state

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errLocked is returned when somebody else holds a lock.
var errLocked = errors.New("locked")

// tryLock takes the lock on f, which ends with f.
func tryLock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// tryLockShared takes a lock that only keeps tryLock out.
func tryLockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }

// flock locks without waiting, and tries again when a signal came between: the Go
// runtime sends itself some all the time.
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

// checkPrivate refuses a folder of somebody else, or one that others can read.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("state folder %s belongs to another user; set COVEY_STATE_HOME to one of your own", dir)
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return fmt.Errorf("state folder %s has mode %04o, so that others can read it; `chmod 700` it", dir, m)
	}
	return nil
}
