//go:build !unix

package launch_test

// stopSelf does nothing here: the tests that stop a program run on Unix alone.
func stopSelf() {}
