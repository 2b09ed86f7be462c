//go:build unix

package launch

import (
	"os/exec"
	"syscall"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
)

// endWithGroup lets a command run in a group of its own, all of which is killed
// when its context ends.
func endWithGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = proc.OwnSession()
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
