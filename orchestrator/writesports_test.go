package orchestrator

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/writes"
)

// TestNamesPolicy: a hook or a gate may name one.
func TestNamesPolicy(t *testing.T) {
	t.Parallel()
	policy := hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Policy: writes.CommittedPolicy}}}}}
	if !namesPolicy([]settings.Source{{}, {Settings: policy}}, writes.CommittedPolicy) ||
		namesPolicy([]settings.Source{{Settings: policy}}, "x") {
		t.Error("who names a policy is wrong")
	}
}
