package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var testTime = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

func TestRunFileRoundTrip(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "/specs/team.yaml")
	r := NewRunFile(p, testTime, 1)
	r.Spec, r.Goal, r.Members = "/specs/team.yaml", "ship <it> ö", []string{"lead", "api"}
	r.Result = &RunResult{Reason: "all work is done", ExitCode: 0, Ended: testTime.Add(time.Minute), Answer: "Done."}
	if err := r.Write(p); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRunFile(p)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("read %+v, %v; want %+v", got, err, r)
	}
	if left, err := filepath.Glob(filepath.Join(p.Dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestReadRunFileRefuses(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"newer":        {`{"format":2,"team":"crew","pid":"a new meaning"}`, ErrNewer},
		"torn":         {`{"format":1,"team":"cr`, nil},
		"empty":        {``, nil},
		"another team": {`{"format":1,"team":"other"}`, nil},
		"no format":    {`{"team":"crew"}`, nil},
		"wrong type":   {`{"format":1,"team":"crew","pid":"x"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(p.RunFile(), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadRunFile(p)
			if err == nil || !strings.Contains(err.Error(), p.RunFile()) || (c.want != nil &&
				!errors.Is(err, c.want)) {
				t.Errorf("ReadRunFile = %v", err)
			}
			if _, ok := Running(p); ok {
				t.Error("such a team is said to run")
			}
		})
	}
}

func TestRunning(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	write := func(change func(*RunFile)) {
		t.Helper()
		r := NewRunFile(p, testTime, 1)
		change(&r)
		if err := r.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*RunFile)
		want   bool
	}{
		{"this process", func(*RunFile) {}, true},
		{"a run that ended", func(r *RunFile) { r.Result = &RunResult{} }, false},
		{"a process that is gone", func(r *RunFile) { r.PID = ended.Process.Pid }, false},
		{"a pid that another process has now", func(r *RunFile) { r.Birth = "boot/1" }, false},
		{"a pid of an earlier boot", func(r *RunFile) { _, r.Birth, _ = strings.Cut(r.Birth, "/") }, false},
		{"no pid", func(r *RunFile) { r.PID = 0 }, false},
		{"all processes", func(r *RunFile) { r.PID = -1 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(c.change)
			if r, ok := Running(p); ok != c.want {
				t.Errorf("Running = %v, want %v (%+v)", ok, c.want, r)
			}
		})
	}
	if err := os.Remove(p.RunFile()); err != nil {
		t.Fatal(err)
	}
	if _, ok := Running(p); ok {
		t.Error("a team that never ran is said to run")
	}
}

func TestWriteAtomicFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.Mkdir(path, 0o700); err != nil { // a folder cannot be replaced by a file
		t.Fatal(err)
	}
	if err := WriteAtomic(path, []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := WriteAtomic(filepath.Join(dir, "no", "f"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// lockVariable makes the test binary a process that holds a lock.
const lockVariable = "COVEY_TEST_LOCK"

// TestLockProcess is not a test: TestLockOfAnotherProcess runs it.
func TestLockProcess(t *testing.T) {
	dir := os.Getenv(lockVariable)
	if dir == "" {
		t.Skip("run by another test")
	}
	if _, err := LockTeam(Place{Dir: dir, Team: "crew"}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	time.Sleep(time.Minute) // until it is killed
}

func TestLockOfAnotherProcess(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(bin, "-test.run=^TestLockProcess$")
	holder.Env = append(os.Environ(), lockVariable+"="+p.Dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if !LockHeld(p.Lock()) {
		t.Error("the lock is held and nobody sees it")
	}
	_, err = LockTeam(p)
	if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", holder.Process.Pid)) {
		t.Errorf("a second lock: %v; it must name process %d", err, holder.Process.Pid)
	}
	brief, cancel := context.WithTimeout(t.Context(), 5*lockPause)
	defer cancel()
	if err := WaitReleased(brief, p, holder.Process.Pid); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a lock that is held ended with %v", err)
	}
	if err := WaitReleased(t.Context(), p, holder.Process.Pid+1); err != nil {
		t.Errorf("a process that runs the team after the one that is waited for: %v", err)
	}
	if err := holder.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := WaitReleased(t.Context(), p, holder.Process.Pid); err != nil {
		t.Errorf("waiting for a lock that a process let go of: %v", err)
	}
	_ = holder.Wait()
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatalf("after kill -9 of the holder: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if LockHeld(p.Lock()) {
		t.Error("nobody holds the lock")
	}
	if _, err := os.Stat(p.Lock()); err != nil {
		t.Errorf("the lock file must stay: %v", err)
	}
}

func TestLookingDoesNotKeepATeamOut(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	f, err := os.OpenFile(p.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := tryLockShared(f); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // a slow machine would let the real time run out
		time.AfterFunc(lockTimeout/4, func() { f.Close() })
		lock, err := LockTeam(p)
		if err != nil {
			t.Fatalf("somebody only looked: %v", err)
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	})
}

func TestLockWithoutPlace(t *testing.T) {
	if _, err := LockTeam(Place{Dir: filepath.Join(t.TempDir(), "none"), Team: "crew"}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if LockHeld(filepath.Join(t.TempDir(), "none")) {
		t.Error("a lock that is not there is held")
	}
}
