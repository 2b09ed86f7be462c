package teammate

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestHelperThatCannotBeMade: the call says why, and what was opened for the helper is
// closed.
func TestHelperThatCannotBeMade(t *testing.T) {
	m := newRig(t).member(t)
	u, closed := &turn{t: m, at: m.hookContext(1, "prompt")}, 0
	help := u.Help(t.Context(), Helper{
		Call: "call", Type: "scout",
		Equip: func(HelperSetting) (HelperGear, error) {
			return HelperGear{Tools: []agent.Tool{}, Close: func() error { closed++; return nil }}, nil // it has no agent
		},
	})
	if !strings.Contains(help.Problem, "Agent is missing") || closed != 1 {
		t.Errorf("its problem is %q, and it was closed %d times", help.Problem, closed)
	}
}
