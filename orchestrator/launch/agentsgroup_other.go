//go:build !unix

package launch

import (
	"os/exec"
	"time"
)

// endWithGroup lets a command be killed when its context ends. Children of it
// are waited for a second.
func endWithGroup(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
