package orchestrator

import (
	"os"
	"syscall"
)

// writeProgram writes a file that is going to be executed. No process may be started
// meanwhile: a child that another test forks has the file open for writing until it
// executes its own program, and the kernel executes no file that somebody writes to
// ("text file busy").
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}
