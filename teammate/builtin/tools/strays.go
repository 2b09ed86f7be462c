package tools

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/coveyteam/covey/hooks/proc"
)

// stray is a process that a command has left running, such as a server started with `&`.
// It may outlive the command but not the member: Close kills it.
type stray struct {
	pid     int
	marker  string // in its environment, so that a reused pid is not taken for it
	release func()
}

// recordStrays records the processes that a command has left running, and returns a note for
// the model. It reports each process to the host, so that the host knows the owner.
func (t *Set) recordStrays(exit proc.Exit, marker string) (note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	if exit.Stopped || t.closed {
		return "" // the processes in Left are killed or about to be
	}
	var pids []string
	for _, pid := range exit.Left {
		s := stray{pid: pid, marker: marker}
		if !s.alive() {
			continue
		}
		// From now on the host knows the owner, although the parent is gone.
		s.release = t.env.track(pid)
		t.strays = append(t.strays, s)
		pids = append(pids, strconv.Itoa(pid))
	}
	if len(pids) == 0 {
		return ""
	}
	return fmt.Sprintf("(still running: process %s, started by this command; run_in_background would "+
		"keep its output, and KillShell ends it by its number)",
		strings.Join(pids, ", "))
}

// leftRunning returns the process with a number that a command has left running, if it still runs.
func (t *Set) leftRunning(pid string) (stray, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	i := slices.IndexFunc(t.strays, func(s stray) bool { return strconv.Itoa(s.pid) == pid })
	if i < 0 {
		return stray{}, false
	}
	return t.strays[i], true
}

// sweep removes strays that have ended.
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

// endStrays kills what commands have left running, unless no command has run.
func (t *Set) endStrays() {
	if t.calls.Load() == 0 {
		return
	}
	endMarked(callPrefix + t.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.strays {
		s.release()
	}
	t.strays = nil
}

// endMarked kills all processes whose environment has an entry that begins so, including those
// that left their session and hold no output, which proc.Exit does not list. Only a limit on
// processes stops what forks faster than it is killed. It scans all processes of the machine.
func endMarked(prefix string) {
	const rounds = 10
	for range rounds {
		found := false
		for _, s := range proc.Table() {
			if !proc.CarriesPrefix(s.PID, prefix) {
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
}

// alive reports whether the process still exists. It checks the marker, because the pid may
// have been reused.
func (s stray) alive() bool { return proc.CarriesPrefix(s.pid, s.marker) }

// exitCode returns the exit code as a shell reports it: 128 plus the signal's number for a
// program that a signal ended.
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
