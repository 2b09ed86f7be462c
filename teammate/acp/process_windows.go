package acp

import (
	"os"
	"syscall"
)

// ownSession gives the program a process group of its own.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signalGroup ends p; Windows cannot ask a program without a console to end.
func signalGroup(p *os.Process, _ bool) { _ = p.Kill() }
