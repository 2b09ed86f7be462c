package sandbox

import (
	"errors"
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
	b.ready.once.Do(func() { b.ready.filter = b.filter() })
	// A filter takes about as long as looking for changes of what is granted, so both are done at once.
	ruled := make(chan *os.File, 1)
	started := onOwnThread(func() error {
		if err := filterThread(b.ready.filter); err != nil {
			return err
		}
		rules := <-ruled
		if rules == nil {
			return nil // there are no rules, and so no start
		}
		if err := ruleThread(rules); err != nil {
			return err
		}
		return cmd.Start()
	})
	rules, err := b.rules()
	ruled <- rules
	if err := errors.Join(err, <-started); err != nil {
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
	once   sync.Once
	filter []instruction

	mu    sync.Mutex
	rules *os.File
	ruled []inode // what the paths of the policy led to when the rules were made
}

// inode identifies a file; the zero value is none. As long as a rule names it, its number is not used
// again.
type inode struct{ device, number uint64 }

// rules returns rules of the policy: the last ones, unless a path leads to another file now.
func (b *Box) rules() (*os.File, error) {
	now := b.inodes()
	b.ready.mu.Lock()
	defer b.ready.mu.Unlock()
	if b.ready.rules == nil || !slices.Equal(now, b.ready.ruled) {
		// The last rules are closed when nothing uses them any more.
		rules, err := b.ruleset()
		if err != nil {
			return nil, err
		}
		b.ready.rules, b.ready.ruled = rules, now
	}
	return b.ready.rules, nil
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

// onOwnThread runs f on a thread that runs nothing else and ends after it, and sends what f returns. It is not
// kept for another f: programs that it started are in its landlock domain, and by a signal to it could kill this process. It is
// never the main thread: that one cannot end, and would stay as f leaves it, as the leader of this process.
func onOwnThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends with this goroutine
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread() // held until another thread has run f
			done <- <-onOwnThread(f)
			return
		}
		done <- f()
	}()
	return done
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
