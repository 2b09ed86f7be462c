//go:build unix

package builtin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// stopTool is a team tool that the member's stop interrupts the first time.
type stopTool struct {
	stop  context.CancelCauseFunc
	calls []string // ids
}

var errTold = errors.New("told to stop")

func (s *stopTool) Spec() agent.Spec { return agent.Spec{Name: "Tell", Team: true} }

func (s *stopTool) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	s.calls = append(s.calls, call.ID)
	if len(s.calls) > 1 {
		return agent.ToolResult{Content: "told"}
	}
	s.stop(errTold)
	<-ctx.Done()
	return agent.Failed("%v", ctx.Err())
}

// A call of a team tool that an orderly stop interrupts is made again in the next life, under
// its id, as after a crash: the store knows whether it took effect, and the model is not told
// that it failed.
func TestStoppedInATeamTool(t *testing.T) {
	m := newMember(t, []byte(`steps: [{call: [{tool: Tell, input: {}}]}, {say: done}]`))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	tool := &stopTool{stop: cancel}
	m.extra = []agent.Tool{tool}
	if err := m.live(t, ctx, "go"); !errors.Is(err, errTold) {
		t.Fatal(err)
	}
	m.run(t, "")
	if len(tool.calls) != 2 || tool.calls[0] != tool.calls[1] {
		t.Errorf("calls %v", tool.calls)
	}
	for _, text := range m.conversations()["a"] {
		if text == "user: [tool_result] interrupted" {
			t.Error("the model is told that the call was interrupted")
		}
	}
}
