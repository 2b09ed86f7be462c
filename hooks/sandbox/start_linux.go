package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// start starts a command at level 1 or 2.
func (b *Box) start(cmd *exec.Cmd) (*Session, error) {
	if visible, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || visible == 1 {
		return nil, ErrVisible
	}
	if b.level == Mounts {
		return b.startInside(cmd)
	}
	rules, err := b.ruleset()
	if err != nil {
		return nil, err
	}
	defer rules.Close()
	err = onOwnThread(func() error {
		if err := b.restrict(rules); err != nil {
			return err
		}
		return cmd.Start()
	})
	if err != nil {
		return nil, err
	}
	if err := b.limit(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	return nil, nil
}

// onOwnThread runs f on a thread that runs nothing else and ends after it. It is never the main
// thread: that one cannot end, and would stay as f leaves it, as the leader of this process.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends with this goroutine
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread() // held until another thread has run f
			done <- onOwnThread(f)
			return
		}
		done <- f()
	}()
	return <-done
}

// limit sets the limits of a process that has started.
func (b *Box) limit(pid int) error {
	for _, l := range []struct {
		resource int
		max      uint64
	}{{unix.RLIMIT_FSIZE, b.policy.MaxFile}, {unix.RLIMIT_NOFILE, b.policy.MaxOpen}} {
		if l.max == 0 {
			continue
		}
		var now unix.Rlimit
		err := unix.Prlimit(pid, l.resource, nil, &now)
		if err == nil && now.Max > l.max {
			err = unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: min(now.Cur, l.max), Max: l.max}, nil)
		}
		if err != nil && err != unix.ESRCH {
			return fmt.Errorf("limit the program: %w", err)
		}
	}
	return nil
}
