//go:build !linux

package orchestrator_test

import "testing"

// fileLimit does nothing here.
func fileLimit(*testing.T, uint64) {}

// isFullDisk is never asked in earnest here.
func isFullDisk(error) bool { return false }
