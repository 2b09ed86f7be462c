package main

import "syscall"

// closeOnExec keeps child processes from inheriting a descriptor.
func closeOnExec(fd int) { syscall.CloseOnExec(syscall.Handle(fd)) }
