package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HideMemory hides this process's memory and environment, which contain API keys, from
// other processes of this user: /proc/PID/environ and mem then belong to root, and only
// root may trace it. Child processes are not affected. It also disables core dumps.
func HideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the environment from other processes: %w", err)
	}
	return nil
}
