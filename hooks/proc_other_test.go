//go:build unix && !linux

package hooks

func startTimeOf(int) string { return "" }
