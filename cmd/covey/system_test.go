package main

import (
	"runtime"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// TestRunsTeams: on Windows one line says to use WSL, and no other system is refused.
func TestRunsTeams(t *testing.T) {
	for _, system := range []string{"linux", "darwin", runtime.GOOS} {
		if err := runsTeams(&cli.Env{}, system); err != nil && system != "windows" {
			t.Errorf("%s: %v", system, err)
		}
	}
	if err := runsTeams(&cli.Env{}, "windows"); err == nil || !strings.Contains(err.Error(), "use WSL") || strings.Contains(err.Error(), "\n") {
		t.Errorf("windows: %v", err)
	}
}
