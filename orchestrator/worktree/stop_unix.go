//go:build unix

package worktree

import (
	"os"
	"syscall"
)

// stop asks git to end. On TERM it takes its lock files away; killed, it would
// leave them to block whoever comes next.
func stop(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
