package builtin

import (
	"context"
	"errors"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// namedModel is a fakeModel with a name.
type namedModel struct {
	fakeModel
	name string
}

func (m *namedModel) Describe() (string, int64) { return m.name, 0 }

// switchingHost is a fakeHost that is a switcher.
type switchingHost struct {
	fakeHost
	refusal  string
	switched []events.ModelSwitched
}

func (h *switchingHost) MaySwitch(context.Context, events.ModelSwitched) string { return h.refusal }

func (h *switchingHost) Switched(_ context.Context, s events.ModelSwitched) []agent.Input {
	h.switched = append(h.switched, s)
	return []agent.Input{{Kind: agent.FromContext, Text: "by a hook"}}
}

// A fallback answers the rest of the turn, and the next turn begins with the agent's own model.
// Thinking, what was said, and what arrived meanwhile are all in its request.
func TestFallback(t *testing.T) {
	for name, tt := range map[string]struct {
		err      error
		refusal  string
		switches int
	}{
		"overloaded":     {err: &agent.APIError{Type: "overloaded"}, switches: 1},
		"declined":       {err: &agent.APIError{Type: "invalid_request"}, switches: 1},
		"usage limit":    {err: &agent.LimitError{Text: "tomorrow"}, switches: 1},
		"too long":       {err: &agent.APIError{Type: "invalid_request", Overflow: true}},
		"refused":        {err: &agent.APIError{Type: "overloaded"}, refusal: "not that one"},
		"no API's error": {err: errors.New("broken")},
	} {
		t.Run(name, func(t *testing.T) {
			big := &namedModel{fakeModel{t: t, answers: []any{answer(calls("Read", "c1")), tt.err, answer(says("back"))}}, "big"}
			small := &namedModel{fakeModel{t: t, answers: []any{answer(calls("Bash", "c2")), answer(says("done"))}}, "small"}
			a, err := New(Options{Model: big, Fallbacks: []agent.Model{small}})
			if err != nil {
				t.Fatal(err)
			}
			h := &switchingHost{refusal: tt.refusal}
			reply, err := a.Run(t.Context(), prompt("go"), h)
			if len(h.switched) != tt.switches {
				t.Fatalf("switched %+v", h.switched)
			}
			if tt.switches == 0 {
				if !errors.Is(err, tt.err) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || reply.Text != "done" || h.switched[0].From != "big" || h.switched[0].To != "small" {
				t.Errorf("%+v, %v, %+v", reply, err, h.switched)
			}
			want := "user: go\nassistant: Read c1 {\"a\":1}\nuser: =c1 did Read | by a hook\n"
			if got := written(small.requests[0].Messages); got != want {
				t.Errorf("the fallback gets\n%s", got)
			}
			if last := h.records[len(h.records)-1]; last.Model != "small" {
				t.Errorf("recorded as %+v", last)
			}
			if reply, err = a.Run(t.Context(), prompt("again"), h); err != nil || reply.Text != "back" {
				t.Errorf("the next turn: %+v, %v", reply, err)
			}
		})
	}
}
