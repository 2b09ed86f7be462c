//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// buffer is a writer that may be read while a process writes to it.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// sh is a process that runs a shell script.
func sh(script string, out io.Writer) Process {
	return Process{Args: []string{"/bin/sh", "-c", script}, Stdout: out, Stderr: out}
}

func TestProcessRuns(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var out, errs buffer
	dir := t.TempDir()
	p := Process{Args: []string{"sh", "-c", "cat; pwd; echo $X >&2; exit 3"}, Dir: dir,
		Stdin: []byte("in\n"), Stdout: &out, Stderr: &errs,
		Env: []string{"PATH=" + os.Getenv("PATH"), "X=1"}}
	pids := 0
	p.Started = func(int) func() { pids++; return nil }
	exit, err := p.Run(t.Context())
	if err != nil || exit.Code != 3 || exit.Stopped || exit.Held || exit.Left != nil || exit.Signal != "" ||
		pids != 1 {
		t.Errorf("%+v, %v, started %d times", exit, err, pids)
	}
	if out.String() != "in\n"+dir+"\n" || errs.String() != "1\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}

func TestProcessOneWriter(t *testing.T) {
	var out buffer
	if exit, err := sh("echo a; echo b >&2; echo c", &out).Run(t.Context()); err != nil || exit.Code != 0 {
		t.Fatal(exit, err)
	}
	if out.String() != "a\nb\nc\n" {
		t.Errorf("the order of two streams into one writer is kept: %q", out.String())
	}
	if exit, err := (Process{Args: []string{"/bin/sh", "-c",
		"echo x; cat"}}).Run(t.Context()); err != nil || exit.Code != 0 {
		t.Errorf("without any stream: %+v, %v", exit, err)
	}
}

func TestProcessCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := []string{"PATH=" + dir}
	for name, test := range map[string]struct {
		p    Process
		want error
	}{
		"nothing":        {Process{}, nil},
		"missing":        {Process{Args: []string{"no-such"}, Env: path}, exec.ErrNotFound},
		"missing path":   {Process{Args: []string{dir + "/no"}}, os.ErrNotExist},
		"no permission":  {Process{Args: []string{file}}, os.ErrPermission},
		"none on PATH":   {Process{Args: []string{"file"}, Env: path}, os.ErrPermission},
		"folder":         {Process{Args: []string{dir}}, os.ErrPermission},
		"no such folder": {Process{Args: []string{"/bin/true"}, Dir: dir + "/no"}, os.ErrNotExist},
		"NUL":            {Process{Args: []string{"/bin/true", "a\x00b"}}, nil},
		"relative PATH": {Process{Args: []string{"file"}, Dir: dir, Env: []string{"PATH=.:"}},
			exec.ErrNotFound},
	} {
		exit, err := test.p.Run(t.Context())
		if !errors.Is(err, ErrStart) || exit.Code != -1 || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %+v, %v", name, exit, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if exit, err := sh("exit 0", nil).Run(ctx); !errors.Is(err, context.Canceled) || exit.Code != -1 {
		t.Errorf("an ended context: %+v, %v", exit, err)
	}
}

// TestProcessIsStopped: the whole tree ends with the context, politely first.
func TestProcessIsStopped(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var out buffer
	ctx, cancel := context.WithCancel(t.Context())
	p := sh(`trap "echo bye; exit 7" TERM; sleep 60 & echo $!; wait`, &out)
	go func() {
		eventually(t, "the child's pid", func() bool { return strings.HasSuffix(out.String(), "\n") })
		cancel()
	}()
	exit, err := p.Run(ctx)
	if err != nil || !exit.Stopped || exit.Code != 7 {
		t.Errorf("%+v, %v", exit, err)
	}
	first, rest, _ := strings.Cut(out.String(), "\n")
	if rest != "bye\n" {
		t.Errorf("it was not asked to end: %q", out.String())
	}
	if pid, err := strconv.Atoi(first); err != nil || Alive(pid) {
		t.Errorf("child %q goes on", first)
	}
}

// TestProcessGrace: children get as long to end as the program itself does.
func TestProcessGrace(t *testing.T) {
	t.Parallel()
	var out buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// No child of the shell sleeps for long: TERM is lost on one between its fork and its exec.
	p := sh(`(exec 2>/dev/null; trap "sleep 0.2; echo cleaned; exit" TERM; echo ready; while :; do sleep 0.1; done) & wait`, &out)
	p.Grace = time.Minute
	go func() {
		eventually(t, "the trap is set", func() bool { return out.String() == "ready\n" })
		cancel()
	}()
	start := time.Now()
	if exit, err := p.Run(ctx); err != nil || !exit.Stopped || exit.Signal != "terminated" {
		t.Errorf("%+v, %v", exit, err)
	}
	if took := time.Since(start); out.String() != "ready\ncleaned\n" || took >= p.Grace {
		t.Errorf("%q after %v", out.String(), took)
	}
}

// TestProcessEscapes: what leaves the group, the session, or both of its
// parents, ends too; it is found by the marker or by its descent.
func TestProcessEscapes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("escaped children are found by /proc")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid")
	}
	for name, script := range map[string]string{
		"own session":           `setsid sh -c 'echo $$ >pid; exec sleep 60' & sleep 60`,
		"orphan in own session": `(setsid sh -c 'echo $$ >pid; exec sleep 60' &) ; sleep 60`,
		"without environment":   `env -i setsid sh -c 'echo $$ >pid; exec sleep 60' & sleep 60`,
		"own group":             `set -m; sleep 60 & echo $! >pid; sleep 60`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			p := sh(script, nil)
			p.Dir, p.Env, p.Marker, p.Grace = dir, append(os.Environ(), "M="+dir), "M="+dir,
				50*time.Millisecond
			go func() { pidIn(t, filepath.Join(dir, "pid")); cancel() }()
			exit, err := p.Run(ctx)
			pid := pidIn(t, filepath.Join(dir, "pid"))
			if Alive(pid) {
				t.Errorf("child %d goes on: %+v, %v", pid, exit, err)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

func TestProcessLeavesChildren(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("children are named by /proc")
	}
	var out buffer
	exit, err := sh("sleep 1.5 >/dev/null 2>&1 & echo $!", &out).Run(t.Context())
	pid, convErr := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil || convErr != nil || exit.Code != 0 || exit.Held || len(exit.Left) != 1 ||
		exit.Left[0] != pid || !Alive(pid) {
		t.Errorf("%+v, %v, child %s", exit, err, out.String())
	}
}

// TestProcessFreshScript: a program that was written a moment ago starts, also
// while other goroutines fork (ETXTBSY).
func TestProcessFreshScript(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			file := filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 5\n"), 0o700); err != nil {
				t.Error(err)
				return
			}
			if exit, err := (Process{Args: []string{file}}).Run(t.Context()); err != nil || exit.Code != 5 {
				t.Errorf("%+v, %v", exit, err)
			}
		})
	}
	wg.Wait()
}

// failing is a writer that takes nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestProcessWriterFails(t *testing.T) {
	p := sh("head -c 1000000 /dev/zero; exit 4", failing{})
	returns(t, func() {
		if exit, err := p.Run(t.Context()); err != nil || exit.Code != 4 {
			t.Errorf("the program is not at fault: %+v, %v", exit, err)
		}
	})
}

func TestPlumbingClosesEverything(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files are counted by /proc")
	}
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	run := func() {
		_, _ = sh("cat >/dev/null; sleep 1 & exit 0", io.Discard).Run(t.Context())
		_, _ = (Process{Args: []string{"/no/such"}, Stdin: make([]byte, 1<<20),
			Stdout: io.Discard}).Run(t.Context())
		_, _ = (Process{Args: []string{"/bin/true"}, Stdin: make([]byte, 1<<20),
			Stdout: io.Discard}).Run(t.Context())
	}
	run()
	before := count()
	for range 3 {
		run()
	}
	if after := count(); after > before {
		t.Errorf("%d open files, %d before", after, before)
	}
}

// TestProcessReap: what a program leaves in its group, or at an output, ends
// with it.
func TestProcessReap(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("children are named by /proc")
	}
	for name, script := range map[string]string{
		"in its group":   "sleep 600 >/dev/null 2>&1 & echo $!",
		"at its output":  "sleep 600 & echo $!",
		"in own session": "setsid sleep 600 & echo $!; sleep 0.2",
	} {
		var out buffer
		p := sh(script, &out)
		p.Reap, p.Marker = true, "M=reap"+name
		p.Env = append(os.Environ(), p.Marker)
		start := time.Now()
		exit, err := p.Run(t.Context())
		pid, convErr := strconv.Atoi(strings.TrimSpace(out.String()))
		if err != nil || convErr != nil || exit.Code != 0 || exit.Stopped || time.Since(start) > time.Minute {
			t.Errorf("%s: %+v, %v, child %s", name, exit, err, out.String())
			continue
		}
		if Alive(pid) {
			t.Errorf("%s: child %d goes on: %+v", name, pid, exit)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
