package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// A turn that is cut off behind words of the program is not at its gates: the
// words are left out, unless a person interrupted the turn, which ends it.
func TestCutBehindWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cause error
		kept  bool
	}{
		{"covey stops", nil, false},
		{"a person interrupts", fmt.Errorf("%w: enough", agent.ErrInterrupted), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, life{Prompts: [][]string{{
				"tool c1 ls", "done c1 a.go", "say I begin.", "tool c2 x", "done c2 y", "say And now.",
				"cancelled", "end cancelled",
			}}})
			r.start(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r.host.report = func(call agent.ToolCall, _ agent.ToolResult) agent.Remarks {
				if call.ID == "c2" { // the words come before the answer to the cancel
					cancel(tt.cause)
				}
				return agent.Remarks{}
			}
			if _, err := r.Run(ctx, goPrompt(), r.host); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			last := r.host.said[len(r.host.said)-1]
			if kept := last == "assistant: And now."; kept != tt.kept {
				t.Errorf("transcript: %s", strings.Join(r.host.said, "\n"))
			}
			if !slices.Contains(r.host.said, "assistant: I begin.") || len(r.host.open) > 0 {
				t.Errorf("words before a call stay: %q", r.host.said)
			}
		})
	}
}
