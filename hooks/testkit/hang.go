package testkit

import "time"

// Hang waits for ever, for programs of tests that somebody has to kill. In a program without
// cgo and other goroutines, select {} would end it: the runtime calls that a deadlock.
func Hang() {
	for {
		time.Sleep(time.Hour)
	}
}
