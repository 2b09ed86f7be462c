package teammate

import "github.com/coveyteam/covey/hooks"

// Process and Exit are the process runner of package hooks under this
// package's name: agents and tools run programs through it, so that there is
// one way to start, limit and kill a process tree, and they import only
// teammate.
type (
	Process = hooks.Process
	Exit    = hooks.Exit
)
