package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
)

// ErrRunning is returned by a second `covey up` of a team.
var ErrRunning = errors.New("already run")

// teamLock is held by the one `covey up` that runs a team. The kernel releases it when
// the process ends for any reason.
type teamLock struct {
	file        *os.File
	releaseName func() error // nil: it has no name
}

// lockTimeout is how long LockTeam tries. A process that only checks the lock holds it
// for a moment, and so does one that the last run was just starting: it has a copy of all that
// is open until it executes its program.
const lockTimeout = time.Second

// lockPause is the time between two attempts.
const lockPause = 5 * time.Millisecond

// LockTeam takes a Place's lock. If another process holds it, it fails with ErrRunning
// and names that process.
func LockTeam(p Place) (*teamLock, error) {
	f, err := proc.OpenOwn(p.Lock(), os.O_RDWR)
	if err != nil {
		return nil, FolderError(fmt.Errorf("lock of team %s: %w", p.Team, err))
	}
	return lockFile(p, f)
}

// lockFile takes a Place's lock, whose file is open.
func lockFile(p Place, f *os.File) (*teamLock, error) {
	l := &teamLock{file: f}
	err := WaitLock(f, lockTimeout)
	if err == nil {
		err = retryLocked(lockTimeout, func() (err error) {
			l.releaseName, err = claimName(p.Lock())
			return err
		})
	}
	if errors.Is(err, errLocked) {
		err = fmt.Errorf("team %s in %s: %w%s; `covey attach` shows it, `covey down` ends it",
			p.Team, p.Workspace, ErrRunning, holder(f))
	}
	if err == nil && !isAt(f, p.Lock()) {
		err = fmt.Errorf("team %s in %s was removed meanwhile; try again", p.Team, p.Workspace)
	}
	if err == nil {
		err = sign(f)
	}
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// isAt reports whether path still leads to f: Remove may have removed it since it was opened.
func isAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	now, gone := os.Stat(path)
	return err == nil && gone == nil && os.SameFile(opened, now)
}

// WaitLock tries to lock f for up to patience.
func WaitLock(f *os.File, patience time.Duration) error {
	return retryLocked(patience, func() error { return tryLock(f) })
}

// retryLocked calls try until it does not fail with errLocked, for up to patience.
func retryLocked(patience time.Duration, try func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(lockPause) {
		err := try()
		if !errors.Is(err, errLocked) || time.Now().After(deadline) {
			return err
		}
	}
}

// sign writes our pid into the lock file, for processes that find it locked.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder names the process that signed the lock file, for people.
func holder(f *os.File) string {
	if pid := signer(f); pid > 0 {
		return fmt.Sprintf(" by process %d", pid)
	}
	return ""
}

// signer returns the process that signed the lock file last; 0: unknown.
func signer(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0) // io.EOF is expected
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// WaitReleased waits until process pid has released the team's lock, which it does
// last. It does not wait for another process that runs the team after it. It fails with
// ctx's error.
func WaitReleased(ctx context.Context, p Place, pid int) error {
	look := time.NewTicker(lockPause)
	defer look.Stop()
	for {
		held, err := heldBy(p.Lock())
		if errors.Is(err, fs.ErrNotExist) || err == nil && held != pid {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// heldBy returns the process that holds the lock file at path; 0: none does.
func heldBy(path string) (pid int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if !errors.Is(tryLockShared(f), errLocked) {
		_ = unlock(f)
		return 0, nil
	}
	return signer(f), nil
}

// Release releases the lock. The file stays: removing it would let two processes lock
// two files of the same name.
func (l *teamLock) Release() error {
	var err error
	if l.releaseName != nil {
		err = l.releaseName()
	}
	return errors.Join(err, unlock(l.file), l.file.Close())
}

// LockHeld reports whether a process holds the lock of the file at path, also if the file was moved.
func LockHeld(path string) bool {
	pid, _ := nameHolder(path) // after an error there is only the file
	return pid != 0 || flocked(path)
}

// flocked reports whether a process has locked the file at path.
func flocked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	held := errors.Is(tryLockShared(f), errLocked)
	if !held {
		_ = unlock(f)
	}
	return held
}
