package teammate

import (
	"time"

	"github.com/coveyteam/covey/hooks"
)

// Process and Exit are the process runner of package hooks under this
// package's name: agents and tools run programs through it, so that there is
// one way to start, limit and kill a process tree, and they import only
// teammate.
type (
	Process = hooks.Process
	Exit    = hooks.Exit
)

// EndTree is hooks.EndTree: it ends a program that was not started as a Process,
// since it is talked to while it runs.
func EndTree(pid int, marker string, grace time.Duration, ended <-chan struct{}) []int {
	return hooks.EndTree(pid, marker, grace, ended)
}
