package state

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/orchestrator/process"
)

// TestRunningIsNotFooledByAZombie kills a process that nobody waits for, as in
// a container whose first process reaps nothing.
func TestRunningIsNotFooledByAZombie(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	place, err := PlaceOf("crew", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Create(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it was killed, which is an error
	r := RunFile{Format: RunFormat, Team: "crew", Workspace: place.Workspace, PID: cmd.Process.Pid}
	if r.Birth, err = process.Birth(r.PID); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(place); err != nil {
		t.Fatal(err)
	}
	if _, ok := Running(place); !ok {
		t.Error("a run whose process lives counts as ended")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	err = unix.Waitid(unix.P_PID, r.PID, nil, unix.WEXITED|unix.WNOWAIT, nil) // it stays a zombie
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Running(place); ok {
		t.Error("a run whose process is a zombie counts as running")
	}
}

// TestReleaseOfALockThatAChildHas: a lock is released at once although a process that was
// just forked still has its file, as any process has until it runs its program.
func TestReleaseOfALockThatAChildHas(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.Dup(int(lock.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(child) }()
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if LockHeld(p.Lock()) {
		t.Error("the lock is held after its release")
	}
	again, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

// TestHolderOfAMovedLock: whoever moves the file of a lock can neither take the lock, nor make
// others believe that nobody has it.
func TestHolderOfAMovedLock(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	if pid, err := Holder(p); pid != 0 || err != nil {
		t.Errorf("nobody has it: %d, %v", pid, err)
	}
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.Lock(), p.Lock()+".moved"); err != nil {
		t.Fatal(err)
	}
	if pid, err := Holder(p); pid != os.Getpid() || err != nil || !LockHeld(p.Lock()) {
		t.Errorf("the file was moved: %d, %v", pid, err)
	}
	if _, err := LockTeam(p); !errors.Is(err, ErrRunning) {
		t.Errorf("with another file: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if pid, err := Holder(p); pid != 0 || err != nil || LockHeld(p.Lock()) {
		t.Errorf("it was released: %d, %v", pid, err)
	}
	// A team in another network namespace holds the file alone, as far as we see.
	file, err := os.OpenFile(p.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := WaitLock(file, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Holder(p); err == nil {
		t.Error("it is not known who holds the file, and Holder says nobody")
	}
}

// TestLockWaitsForAStartingProcess: a process that the last run has just started has a copy of the
// lock's name until it executes its program, and keeps nobody from running the team.
func TestLockWaitsForAStartingProcess(t *testing.T) {
	p := Place{Team: "crew", Dir: t.TempDir()}
	release, err := claimName(p.Lock())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = release() })
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}
