package main

import "syscall"

// closeOnExec keeps a descriptor from the programs that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(syscall.Handle(fd)) }
