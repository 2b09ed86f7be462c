//go:build !unix

package launch

import (
	"os/exec"
	"time"
)

// endWithGroup lets a command be killed when its context ends, and waits a second for
// its children.
func endWithGroup(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
