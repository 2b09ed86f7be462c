package teamhooks

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/writes"
)

// TestNamesPolicy: a hook or a gate may name one.
func TestNamesPolicy(t *testing.T) {
	var l Live
	l.Use(nil, Layers{Sources: []settings.Source{{}, {Settings: hooks.Settings{
		hooks.Stop: {{Hooks: []hooks.Handler{{Policy: writes.CommittedPolicy}}}},
	}}}})
	if !l.NamesPolicy(writes.CommittedPolicy) || l.NamesPolicy("x") {
		t.Error("who names a policy is wrong")
	}
}
