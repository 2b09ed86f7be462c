package main

import (
	"os"
	"syscall"

	"github.com/coveyteam/covey/hooks/proc"
)

// killChildren kills every process below this one. It serves the sudden end
// only: in order, the orchestrator ends what it started itself. covey is the
// sub-reaper of its children, so that those that were left behind are below it,
// too. A process that is started while the list is read may slip through; the
// kernel gives us no lock for that.
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

// isBelow tells whether a process descends from another.
func isBelow(pid, top int, parents map[int]int) bool {
	for range len(parents) {
		pid = parents[pid]
		if pid == top {
			return true
		}
	}
	return false
}
