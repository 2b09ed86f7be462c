//go:build unix

package launch_test

import (
	"os"
	"syscall"
	"time"
)

// stopSelf stops this process until somebody has it continue.
func stopSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(300 * time.Millisecond) // the kernel may stop another thread first
}
