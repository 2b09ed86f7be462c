package main

import (
	"runtime"
	"strings"
	"testing"
)

// TestRunsTeams: on Windows one line says to use WSL, and no other system is refused.
func TestRunsTeams(t *testing.T) {
	for _, system := range []string{"linux", "darwin", runtime.GOOS} {
		if err := runsTeams(system); err != nil && system != "windows" {
			t.Errorf("%s: %v", system, err)
		}
	}
	if err := runsTeams("windows"); err == nil || !strings.Contains(err.Error(), "use WSL") || strings.Contains(err.Error(), "\n") {
		t.Errorf("windows: %v", err)
	}
}
