//go:build race

package main

// raceEnabled says that the race detector runs, which slows everything down.
const raceEnabled = true
