package proc

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// killRounds bounds how often KillMarked repeats: a process may start others before it
// is killed.
const killRounds = 50

// KillMarked kills the processes that carry one of some environment entries: processes that a
// killed run left behind are orphans of the system and continue to write in the
// workspace. It returns their pids. The team's lock must be held, so that no other
// process runs the team.
func KillMarked(entries ...string) []int {
	var killed []int
	for range killRounds {
		left := Marked(entries...)
		if len(left) == 0 {
			break
		}
		for _, pid := range left {
			if unix.Kill(pid, unix.SIGKILL) == nil && !slices.Contains(killed, pid) {
				killed = append(killed, pid)
			}
		}
		time.Sleep(2 * time.Millisecond) // killed processes are gone by then, or found again
	}
	return killed
}

// Marked returns the processes that carry one of some entries, without this one and its ancestors.
func Marked(entries ...string) []int {
	var above []int
	for pid := os.Getpid(); pid > 0 && !slices.Contains(above, pid); {
		above = append(above, pid)
		p, ok := Read(pid)
		if !ok {
			break
		}
		pid = p.Parent
	}
	return slices.DeleteFunc(pids(), func(pid int) bool { // a zombie has no environment
		return slices.Contains(above, pid) || !hasEntry(pid, func(e []byte) bool {
			return len(e) > 0 && slices.Contains(entries, string(e))
		})
	})
}
