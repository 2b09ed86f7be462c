package hooks

// startTimeOf is when a process started, or "" if it does not run.
func startTimeOf(pid int) string { return startTime(pid) }
