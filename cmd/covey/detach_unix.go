//go:build unix

package main

import "syscall"

// closeOnExec keeps child processes from inheriting a descriptor.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
