//go:build unix

package acp

import (
	"os"
	"syscall"
)

// ownSession gives the program a session of its own: it has no terminal, and
// its group can be ended whole.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// signalGroup sends TERM or KILL to the group of p. A group that is gone needs
// none.
func signalGroup(p *os.Process, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, signal)
}
