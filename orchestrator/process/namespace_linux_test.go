package process

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A process that has made itself namespaces of its own is not the operator, wherever it stands.
func TestCallersInOtherNamespaces(t *testing.T) {
	beside := exec.Command("sleep", "600")
	if err := beside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = beside.Process.Kill()
		_ = beside.Wait() // it was killed, which is an error
	}()
	p := New(Unmarked)
	p.self = beside.Process.Pid // covey is a process beside the callers
	g := newGatekeeper(t, p)
	for _, c := range []struct {
		name  string
		flags uintptr
		want  string
	}{
		{"neither", 0, "operator _"},
		{"a user namespace", syscall.CLONE_NEWUSER, "elsewhere _"},
		{"a PID namespace", syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID, "elsewhere _"},
		{"a mount namespace", syscall.CLONE_NEWNS, "operator _"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := g.caller(t)
			cmd.SysProcAttr.Cloneflags = c.flags
			if c.flags&syscall.CLONE_NEWUSER != 0 {
				cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
				cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
			}
			out, err := cmd.Output()
			if err != nil && len(out) == 0 {
				t.Skipf("no such namespace here: %v", err)
			}
			if got := strings.TrimSpace(string(out)); got != c.want {
				t.Errorf("taken for %q, want %q", got, c.want)
			}
		})
	}
}
