//go:build unix

package acp

import "syscall"

// ownSession gives the program a session of its own: it has no terminal, and
// its group can be ended whole.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
