package tools

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/coveyteam/covey/hooks/proc"
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
func (t *Set) leftBehind(exit proc.Exit, marker string) (note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	if exit.Stopped || t.closed {
		return "" // those in Left have been killed, or are about to be
	}
	var pids []string
	for _, pid := range exit.Left {
		s := stray{pid: pid, marker: marker}
		if !s.alive() {
			continue
		}
		// The host can tell whose it is from now on, though its parent is gone.
		s.release = t.env.track(pid)
		t.strays = append(t.strays, s)
		pids = append(pids, strconv.Itoa(pid))
	}
	if len(pids) == 0 {
		return ""
	}
	return fmt.Sprintf("(still running: process %s, started by this command; run_in_background would "+
		"keep its output)",
		strings.Join(pids, ", "))
}

// sweep forgets strays that have ended.
func (t *Set) sweep() {
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

// endStrays kills what commands have left running, found by the environment
// that they were given: also what has left its session and holds no output, of
// which leftBehind does not hear. What forks faster than it is killed is for a
// limit on processes to stop. The processes of the whole machine are looked through,
// unless no command has run.
func (t *Set) endStrays() {
	const rounds = 10
	if t.calls.Load() == 0 {
		return
	}
	for range rounds {
		found := false
		for _, s := range proc.Table() {
			if !proc.CarriesPrefix(s.PID, callPrefix+t.id) {
				continue
			}
			found = true
			if p, err := os.FindProcess(s.PID); err == nil {
				_ = p.Kill()
			}
		}
		if !found {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.strays {
		s.release()
	}
	t.strays = nil
}

// alive reports whether the process is there and still the one that was left:
// its pid may have been given to another.
func (s stray) alive() bool { return proc.CarriesPrefix(s.pid, s.marker) }

// exitCode is the exit code as a shell would tell it: 128 and the signal's
// number for a program that a signal ended.
func exitCode(e proc.Exit) int {
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
