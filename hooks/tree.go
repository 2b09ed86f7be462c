package hooks

import "time"

// EndTree ends a program that was started in a session of its own, and whatever
// descends from it, also what has left its session: TERM to its group, and KILL
// to all that is left after grace. pid is the program's; it may have ended
// before. marker is the entry NAME=value of its environment that no other
// process has; children whose parents are gone are found by it (on Linux).
// ended must be closed when the program has been waited for. EndTree returns
// once everything that it could find is gone, and names what it had to kill.
func EndTree(pid int, marker string, grace time.Duration, ended <-chan struct{}) []int {
	return killTree(pid, marker, grace, ended)
}
