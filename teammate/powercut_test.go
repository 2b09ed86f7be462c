package teammate

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestCallsAreDurableBeforeTheirEffect: a power cut must not leave what a call has done
// to the team and take the call itself.
func TestCallsAreDurableBeforeTheirEffect(t *testing.T) {
	for name, tt := range map[string]struct {
		spec agent.Spec
		want bool
	}{
		"changes the team": {agent.Spec{Team: true}, true},
		"looks":            {agent.Spec{Team: true, ReadOnly: true}, false},
		"works on files":   {agent.Spec{}, false}, // its result after a crash is "interrupted" either way
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Change", `{}`)}})
			tt.spec.Name, tt.spec.Schema = "Change", json.RawMessage(`{"type": "object"}`)
			durable := false
			r.opts.Permissions.Mode = modeBypass
			r.opts.Tools = []agent.Tool{fakeTool{tt.spec, func(context.Context, agent.ToolCall) agent.ToolResult {
				durable = r.opts.Transcript.synced == r.opts.Transcript.size && r.opts.Transcript.size > 0
				return agent.ToolResult{Content: "done"}
			}}}
			r.mustRun(t)
			equal(t, "result", one[agent.ToolReturned](t, r.journal).Content, "done")
			equal(t, "on the disk itself", durable, tt.want)
		})
	}
}
