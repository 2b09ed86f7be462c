package acp

import "syscall"

// ownSession gives the program a process group of its own.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
