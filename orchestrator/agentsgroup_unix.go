//go:build unix

package orchestrator

import (
	"os/exec"
	"syscall"
	"time"
)

// inSession starts a command in a session of its own.
func inSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endWithGroup lets a command run in a group of its own, all of which is killed
// when its context ends.
func endWithGroup(cmd *exec.Cmd) {
	inSession(cmd)
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
