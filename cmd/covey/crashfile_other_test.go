//go:build !unix

package main

// crasher plays no program here: the tests that start it need signals.
func crasher() {}
