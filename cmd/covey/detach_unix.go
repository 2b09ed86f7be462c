//go:build unix

package main

import "syscall"

// ownSession starts a process in a session of its own, so that the end of the
// terminal does not concern it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// closeOnExec keeps a descriptor from the programs that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
