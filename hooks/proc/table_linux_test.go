package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestReadHostileNames: a program may be called anything, brackets and
// blanks included, and is still found.
func TestReadHostileNames(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep")
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a) b", ") S 1 1 1", "((", "x\ny", "sleep"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, data, 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := Process{Args: []string{file, "30"}}
		p.Started = func(pid int) func() {
			s, ok := Read(pid)
			if !ok || s.PID != pid || s.Parent != os.Getpid() || s.Session != pid || s.Dead {
				t.Errorf("%q: %+v, %v", name, s, ok)
			}
			if ticks, err := strconv.ParseUint(s.Started, 10, 64); err != nil || ticks == 0 {
				t.Errorf("%q: started at %q", name, s.Started)
			}
			cancel()
			return nil
		}
		if exit, err := p.Run(ctx); err != nil || !exit.Stopped {
			t.Errorf("%q: %+v, %v", name, exit, err)
		}
	}
}

func TestReadNobody(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if s, ok := Read(pid); ok {
			t.Errorf("%d: %+v", pid, s)
		}
		if Alive(pid) {
			t.Errorf("%d runs", pid)
		}
	}
	if s, ok := Read(os.Getpid()); !ok || s.Parent != os.Getppid() {
		t.Errorf("this process: %+v, %v", s, ok)
	}
}

// TestFamilyKnowsItsOwn: descendants and marked processes belong to it, this
// program and strangers do not.
func TestFamilyKnowsItsOwn(t *testing.T) {
	marker := "HOOKS_TEST_MARKER=" + t.TempDir()
	stranger := exec.Command("sleep", "30")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	marked := exec.Command("sleep", "30")
	marked.Env = append(os.Environ(), marker)
	if err := marked.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = marked.Process.Kill(); _ = marked.Wait() }()
	var out buffer
	ctx, cancel := context.WithCancel(t.Context())
	p := sh("sleep 30 & echo $!; wait", &out)
	started := make(chan int, 1)
	p.Started = func(pid int) func() { started <- pid; return nil }
	done := make(chan struct{})
	go func() { defer close(done); _, _ = p.Run(ctx) }()
	root := <-started
	eventually(t, "the child's pid", func() bool { return strings.HasSuffix(out.String(), "\n") })
	child, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, k := range familyOf(root, marker).members {
		found[k.PID] = true
	}
	if !found[child] || !found[marked.Process.Pid] || found[stranger.Process.Pid] || found[root] || found[os.Getpid()] {
		t.Errorf("family %v of %d: child %d, marked %d, stranger %d", found, root, child, marked.Process.Pid, stranger.Process.Pid)
	}
	cancel()
	<-done
	if Alive(child) || Alive(root) {
		t.Error("the family goes on")
	}
}

// TestKillIsNotFooledByReusedPids: a process that was written down and has been
// replaced by another one of the same pid is left alone.
func TestKillIsNotFooledByReusedPids(t *testing.T) {
	other := exec.Command("sleep", "30")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	f := &family{root: 1 << 29, members: []Stat{{PID: other.Process.Pid, Started: "1"}}}
	if killed := f.kill(); killed != nil {
		t.Errorf("killed %v", killed)
	}
	select {
	case err := <-ended:
		t.Errorf("the other process has ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	_ = other.Process.Kill()
	<-ended
}

// TestCPUOf: what a program and its children compute is counted, and waiting is not.
func TestCPUOf(t *testing.T) {
	if before := CPUOf(1 << 30); before != 0 {
		t.Errorf("nobody has computed %v", before)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := Process{Args: []string{"/bin/sh", "-c", "(while :; do :; done) & wait"}}
	p.Started = func(pid int) func() {
		defer cancel()
		for CPUOf(pid) < 50*time.Millisecond { // it ends because the child computes
			if t.Context().Err() != nil {
				break
			}
		}
		return nil
	}
	if _, err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	p = Process{Args: []string{"/bin/sh", "-c", "read line"}}
	ctx, cancel = context.WithCancel(t.Context())
	p.Started = func(pid int) func() {
		defer cancel()
		if got := CPUOf(pid); got > time.Second {
			t.Errorf("one that waits has computed %v", got)
		}
		return nil
	}
	if _, err := p.Run(ctx); err != nil {
		t.Error(err)
	}
}
