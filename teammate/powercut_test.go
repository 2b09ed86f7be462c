package teammate

import (
	"context"
	"encoding/json"
	"testing"
)

// TestCallsAreDurableBeforeTheirEffect: a power cut must not leave what a call has done
// to the team and take the call itself.
func TestCallsAreDurableBeforeTheirEffect(t *testing.T) {
	for name, tt := range map[string]struct {
		spec Spec
		want bool
	}{
		"changes the team": {Spec{Team: true}, true},
		"looks":            {Spec{Team: true, ReadOnly: true}, false},
		"works on files":   {Spec{}, false}, // its result after a crash is "interrupted" either way
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []ToolCall{callTool("c1", "Change", `{}`)}})
			tt.spec.Name, tt.spec.Schema = "Change", json.RawMessage(`{"type": "object"}`)
			durable := false
			r.opts.Permissions.Mode = modeBypass
			r.opts.Tools = []Tool{fakeTool{tt.spec, func(context.Context, ToolCall) ToolResult {
				durable = r.opts.Transcript.synced == r.opts.Transcript.size && r.opts.Transcript.size > 0
				return ToolResult{Content: "done"}
			}}}
			r.mustRun(t)
			equal(t, "result", one[ToolReturned](t, r.journal).Content, "done")
			equal(t, "on the disk itself", durable, tt.want)
		})
	}
}
