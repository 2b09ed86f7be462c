package main

import "syscall"

// ownSession has no counterpart here.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// closeOnExec keeps a descriptor from the programs that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(syscall.Handle(fd)) }
