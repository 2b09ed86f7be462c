package builtin

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/coveyteam/covey/teammate"
)

// stray is a process that a command has left running, such as a server that
// was started with `&`. It lives on, but never longer than its member: Close
// kills it.
type stray struct {
	pid     int
	marker  string // what its environment holds, so that its pid is not taken for another process's
	release func()
}

// leftBehind keeps book of what a command has left running, and says so to the
// model. The host hears of each process, so that it knows whose they are.
func (t *Tools) leftBehind(exit teammate.Exit, marker string) (note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	if exit.Stopped {
		return "" // those in Left have been killed
	}
	var pids []string
	for _, pid := range exit.Left {
		s := stray{pid: pid, marker: marker}
		if !s.alive() {
			continue
		}
		s.release = t.track(pid)
		t.strays = append(t.strays, s)
		pids = append(pids, strconv.Itoa(pid))
	}
	if len(pids) == 0 {
		return ""
	}
	return fmt.Sprintf("(still running: process %s, started by this command; run_in_background would keep its output)",
		strings.Join(pids, ", "))
}

// sweep forgets strays that have ended.
func (t *Tools) sweep() {
	kept := t.strays[:0]
	for _, s := range t.strays {
		if s.alive() {
			kept = append(kept, s)
		} else {
			s.release()
		}
	}
	t.strays = kept
}

// endStrays kills what commands have left running.
func (t *Tools) endStrays() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	for _, s := range t.strays {
		if p, err := os.FindProcess(s.pid); err == nil {
			_ = p.Kill()
		}
		s.release()
	}
	t.strays = nil
}

// alive reports whether the process is there and still the one that was left.
// Its kin may have been given another environment by now, in which case it is
// let go: killing a stranger would be worse.
func (s stray) alive() bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.pid))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == s.marker {
			return true
		}
	}
	return false
}

// exitCode is the exit code as a shell would tell it: 128 and the signal's
// number for a program that a signal ended.
func exitCode(e teammate.Exit) int {
	if e.Code >= 0 {
		return e.Code
	}
	for n := syscall.Signal(1); n < 65; n++ {
		if n.String() == e.Signal {
			return 128 + int(n)
		}
	}
	return 1
}
