package teammate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// A member that agrees to leave fires its stop event once, whatever that says, and
// neither TaskCompleted nor TeammateIdle, wherever in its turn it agrees.
func TestLeaveFiresStopOnce(t *testing.T) {
	leave := func(m *Teammate, interrupt bool) {
		m.Leave()
		if interrupt {
			m.Interrupt("it leaves the team")
		}
	}
	for name, tc := range map[string]struct {
		at        hooks.Event // in this hook; empty: in a tool call
		interrupt bool
		want      []string
	}{
		"a call that is interrupted": {interrupt: true, want: []string{"Stop"}},
		"a call that goes on":        {want: []string{"Stop"}},
		"Stop":                       {at: hooks.Stop, want: []string{"Stop"}},
		"Stop, which is interrupted": {at: hooks.Stop, interrupt: true, want: []string{"Stop"}},
		"TaskCompleted":              {at: hooks.TaskCompleted, want: []string{"Stop", "TaskCompleted 1"}},
		"TeammateIdle": {at: hooks.TeammateIdle, want: []string{"Stop", "TaskCompleted 1",
			"TaskCompleted 2", "TeammateIdle"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Answer", `{}`)}}, say{text: "bye"})
			r.tasks.list = []tasks.Task{{ID: "1", Status: tasks.InProgress}, {ID: "2", Status: tasks.InProgress}}
			var m *Teammate
			r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Answer"},
				run: func(context.Context, agent.ToolCall) agent.ToolResult {
					if tc.at == "" {
						leave(m, tc.interrupt)
					}
					return agent.ToolResult{Content: "sent"}
				}}}
			r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
				event := in.Payload.Event()
				if event == tc.at {
					leave(m, tc.interrupt)
				}
				if event == cmp.Or(tc.at, hooks.Stop) {
					return refuse("stay"), nil
				}
				return pass, nil
			}
			m = r.member(t)
			if err := m.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			gates := slices.DeleteFunc(r.gates(), func(name string) bool { return strings.Contains("Notification PreToolUse PostToolUse", name) })
			equal(t, "gates", gates, tc.want)
		})
	}
}
