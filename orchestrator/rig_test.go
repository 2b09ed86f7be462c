package orchestrator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// stateHome is a fresh state home for a test.
func stateHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	t.Setenv("COVEY_STATE_HOME", home)
	return home
}

// mustPlace makes the Place of a team with a run.json that says so.
func mustPlace(t *testing.T, team, workspace, spec string) state.Place {
	t.Helper()
	p, err := state.PlaceOf(team, workspace)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Create(); err != nil {
		t.Fatal(err)
	}
	r := state.NewRunFile(p, testTime, api.Protocol)
	r.Spec, r.PID, r.Birth = spec, 1<<30, "dead" // nobody has such a pid
	if err := r.Write(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func mustMkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

var testTime = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
