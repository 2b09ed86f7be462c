package cli

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestKnownMember names those who could be meant.
func TestKnownMember(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	if err := KnownMember(place, "ana"); err == nil || !strings.Contains(err.Error(), "no record of its members") {
		t.Errorf("before the first run: %v", err)
	}
	teamtest.WriteRun(t, place, func(*state.RunFile) {})
	if err := KnownMember(place, "ana"); err != nil {
		t.Error(err)
	}
	if err := KnownMember(place, "bob"); err == nil || !strings.Contains(err.Error(), "lead, ana") {
		t.Errorf("a stranger: %v", err)
	}
}
