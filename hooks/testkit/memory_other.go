//go:build !linux

package testkit

// memoryDir returns the folder for temporary files in memory: other systems have none that
// every user can write to.
func memoryDir() string { return "" }
