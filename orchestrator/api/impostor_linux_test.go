package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// lockVariable makes the test binary a process that holds the lock of the team in this folder.
const lockVariable = "COVEY_TEST_LOCK"

// TestLockProcess is not a test: another one runs it as a process of its own.
func TestLockProcess(t *testing.T) {
	dir := os.Getenv(lockVariable)
	if dir == "" {
		t.Skip("run by another test")
	}
	_, err := state.LockTeam(state.Place{Dir: dir, Team: "crew"})
	fmt.Println("held:", err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the other test ends
}

// TestDialImpostor: a socket that another process than the team's serves in its place is not asked.
func TestDialImpostor(t *testing.T) {
	t.Parallel()
	p := endedTeam(t)
	holder := exec.Command(os.Args[0], "-test.run=^TestLockProcess$")
	holder.Env = append(os.Environ(), lockVariable+"="+p.Dir)
	out, err := holder.StdoutPipe()
	testkit.Must(t, err)
	_, err = holder.StdinPipe()
	testkit.Must(t, err)
	testkit.Must(t, holder.Start())
	t.Cleanup(func() { _, _ = holder.Process.Kill(), holder.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held: <nil>\n" {
		t.Fatalf("%s %v", line, err)
	}
	testkit.Must(t, state.NewRunFile(p, runBegan, Protocol).Write(p))
	b, err := bus.Embed(bus.Options{})
	testkit.Must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	testkit.Must(t, b.Listen(p.Socket(), func(net.Conn) (bus.Identity, error) { return Identity(process.Caller{Kind: process.Operator}), nil }))
	want := fmt.Sprintf("process %d serves it, which is not the team's process, %d", os.Getpid(), holder.Process.Pid)
	if c, err := Dial(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Dial: %v, %v", c, err)
	}
}
