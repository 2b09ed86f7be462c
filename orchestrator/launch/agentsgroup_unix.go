//go:build unix

package launch

import (
	"os/exec"
	"syscall"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
)

// endWithGroup runs a command in its own process group, which is killed as a whole when
// its context ends.
func endWithGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = proc.OwnSession()
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
