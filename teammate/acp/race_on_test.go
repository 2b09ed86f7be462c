//go:build race

package acp

// raced says that the race detector slows everything down.
const raced = true
