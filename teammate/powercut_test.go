package teammate

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// TestCallsAreDurableBeforeTheirEffect: a power cut must not leave what a call has done
// to the team and take the call itself.
func TestCallsAreDurableBeforeTheirEffect(t *testing.T) {
	for name, tt := range map[string]struct {
		spec          agent.Spec
		mustBeDurable bool
	}{
		"changes the team": {agent.Spec{Team: true}, true},
		"looks":            {agent.Spec{Team: true, ReadOnly: true}, false},
		"works on files":   {agent.Spec{}, false}, // its result after a crash is "interrupted" either way
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Change", `{}`)}})
			tt.spec.Name, tt.spec.Schema = "Change", json.RawMessage(`{"type": "object"}`)
			ran := false
			r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass}, nil)
			r.opts.Tools = []agent.Tool{fakeTool{tt.spec, func(context.Context, agent.ToolCall) agent.ToolResult {
				ran = true
				return agent.ToolResult{Content: "done"}
			}}}
			r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
				if in.Payload.Event() == hooks.PreToolUse {
					r.opts.Transcript.Close() // after the call is recorded, before it is durable
				}
				return pass, nil
			}
			if err := r.run(t); err == nil {
				t.Error("the member goes on without its transcript")
			}
			equal(t, "the tool ran", ran, !tt.mustBeDurable)
		})
	}
}
