package orchestrator

import (
	"path/filepath"
	"testing"
)

// stateHome is a fresh state home for a test.
func stateHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	t.Setenv("COVEY_STATE_HOME", home)
	return home
}
