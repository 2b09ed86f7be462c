package mcp

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/orchestrator/process"
)

// A plugin's server has a session of its own, and what it has started ends with it.
func TestHookServerEndsWithItsChildren(t *testing.T) {
	servers := rigServers(t)
	reply, err := rigCall(t.Context(), servers, "plugin:p:rig", "breed")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, field := range strings.Fields(reply.Text) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(reply.Text)
		}
		pids = append(pids, pid)
	}
	if sid, err := unix.Getsid(pids[0]); err != nil || sid != pids[0] || len(pids) != 3 {
		t.Errorf("server %v is in session %d, %v", pids, sid, err)
	}
	servers.Close()
	for _, pid := range pids {
		if p, err := process.Read(pid); err == nil && !p.Zombie {
			t.Errorf("process %d of %v still runs", pid, pids)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
