//go:build unix

package main

import "syscall"

// closeOnExec keeps a descriptor from the programs that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
