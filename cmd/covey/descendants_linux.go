package main

import (
	"os"
	"syscall"

	"github.com/coveyteam/covey/hooks/proc"
)

// killChildren kills all processes below this one. It is only for the immediate exit:
// in an orderly one the orchestrator ends what it started. covey is the sub-reaper of
// its children, so orphans are below it too. A process that starts while the list is
// read may escape; the kernel has no lock against that.
func killChildren() {
	parents := map[int]int{}
	for _, s := range proc.Table() {
		parents[s.PID] = s.Parent
	}
	for pid := range parents {
		if isBelow(pid, os.Getpid(), parents) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
		}
	}
}

// isBelow reports whether a process descends from another.
func isBelow(pid, top int, parents map[int]int) bool {
	for range len(parents) {
		pid = parents[pid]
		if pid == top {
			return true
		}
	}
	return false
}
