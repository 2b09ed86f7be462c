//go:build !linux

package proc

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// Stat is one process. It is never filled on this system.
type Stat struct{ PID, Parent int }

// Table returns nothing, because only Linux lists processes.
func Table() []Stat { return nil }

// CPUOf returns 0, because only Linux tells.
func CPUOf(int) time.Duration { return 0 }

// Carries returns false, because only Linux shows environments.
func Carries(int, string) bool { return false }

// CarriesPrefix returns false, because only Linux shows environments.
func CarriesPrefix(int, string) bool { return false }

// Listening returns nothing, because only Linux says who holds a socket.
func Listening(int, string) map[string]int { return nil }

// Alive reports whether a process with that pid runs.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && (runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil)
}
