package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"

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
	rules, filter, err := b.prepare()
	if err != nil {
		return nil, err
	}
	err = onOwnThread(func() error {
		if err := restrict(rules, filter); err != nil {
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

// prepared is what starts of programs at level 1 have in common, because making it takes as long as all
// else that they cost.
type prepared struct {
	mu     sync.Mutex
	filter []instruction
	rules  *os.File
	ruled  []inode // what the paths of the policy led to when the rules were made
}

// inode identifies a file; the zero value is none. As long as a rule names it, its number is not used
// again.
type inode struct{ device, number uint64 }

// prepare returns rules and a filter of the policy. The rules are the last ones, unless a path leads to
// another file now.
func (b *Box) prepare() (rules *os.File, filter []instruction, err error) {
	now := b.inodes()
	b.ready.mu.Lock()
	defer b.ready.mu.Unlock()
	if b.ready.filter == nil {
		b.ready.filter = b.filter()
	}
	if b.ready.rules == nil || !slices.Equal(now, b.ready.ruled) {
		// The last rules are closed when nothing uses them any more.
		if rules, err = b.ruleset(); err != nil {
			return nil, nil, err
		}
		b.ready.rules, b.ready.ruled = rules, now
	}
	return b.ready.rules, b.ready.filter, nil
}

// inodes returns what the paths of the policy lead to now.
func (b *Box) inodes() (all []inode) {
	for _, g := range b.grants() {
		for _, path := range g.paths {
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil {
				st = unix.Stat_t{}
			}
			all = append(all, inode{uint64(st.Dev), st.Ino})
		}
	}
	return all
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
