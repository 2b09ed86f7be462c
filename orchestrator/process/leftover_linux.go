package process

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/proc"
)

// KillMarked ends the processes that carry an environment entry: what a run that was
// killed has left behind has become orphans of the system and goes on writing in the
// workspace. It returns the numbers of those that it killed. The team's lock must be held,
// so that nobody else runs the team.
func KillMarked(entry string) []int {
	var killed []int
	for range killRounds {
		left := Marked(entry)
		if len(left) == 0 {
			break
		}
		for _, pid := range left {
			if unix.Kill(pid, unix.SIGKILL) == nil && !slices.Contains(killed, pid) {
				killed = append(killed, pid)
			}
		}
		time.Sleep(2 * time.Millisecond) // what is being killed is gone by then, or is looked at again
	}
	return killed
}

// Marked lists the processes that carry an entry, without ourselves and those
// that started us.
func Marked(entry string) []int {
	var above []int
	for pid := os.Getpid(); pid > 0 && !slices.Contains(above, pid); {
		above = append(above, pid)
		p, err := Read(pid)
		if err != nil {
			break
		}
		pid = p.Parent
	}
	var found []int
	for _, s := range proc.Table() {
		if !s.Dead && !slices.Contains(above, s.PID) && proc.Carries(s.PID, entry) {
			found = append(found, s.PID)
		}
	}
	return found
}
