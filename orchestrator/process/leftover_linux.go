package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// carries reports whether a process was started with this entry in its
// environment. One that cannot be read is another user's, and does not.
func carries(pid int, entry string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || entry == "" {
		return false
	}
	return slices.ContainsFunc(bytes.Split(data, []byte{0}), func(e []byte) bool { return string(e) == entry })
}

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

// marked lists the processes that carry an entry, without ourselves and those
// that started us.
func Marked(entry string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
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
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || slices.Contains(above, pid) || !carries(pid, entry) {
			continue
		}
		if p, err := Read(pid); err == nil && !p.Zombie {
			found = append(found, pid)
		}
	}
	return found
}
