package mcp

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// TestGuardAsksPeople: a team tool of an agent program that a rule wants asked
// goes to the inbox where somebody may answer, and is refused where nobody can.
func TestGuardAsksPeople(t *testing.T) {
	rule, err := rules.Parse("SendMessage")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		onAsk  configs.OnAsk
		answer *requests.Ruling
		says   string
	}{
		"nobody": {configs.DenyAsk, nil, "has been denied (rule SendMessage)"},
		"yes":    {configs.WaitAsk, &requests.Ruling{Approve: true}, ""},
		"no": {configs.WaitAsk, &requests.Ruling{Feedback: "not now"},
			"was not given by operator (rule SendMessage). not now"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			asks := inboxOf(r, tc.onAsk)
			c := &Caller{
				Member: r.members["dev"], Life: &members.Life{}, Asker: asks.Asker("dev"), Tools: r.callers["dev"].Tools,
				Teammate: fakeMate{r.fire}, Rights: permission.NewRights(permission.Policy{Ask: []rules.Rule{rule}}, nil),
			}
			testkit.Must(t, asks.TakeUp(t.Context(), nil))
			defer func() { testkit.Must(t, asks.Ended(t.Context())) }()
			done := make(chan *agent.ToolResult, 1)
			go func() {
				_, no := c.guard(t.Context(), api.TeamCall{Tool: teamtools.SendTool,
					Input: texts.Encode(map[string]string{"to": "lead"})}, "c1")
				done <- no
			}()
			if tc.answer != nil {
				testkit.Eventually(t, "the question", func() bool { return len(asks.Open()) == 1 })
				_, err := asks.Answer(t.Context(), actors.Actor{Name: actors.Operator},
					inbox.Answer{ID: asks.Open()[0].ID, Approve: tc.answer.Approve, Text: tc.answer.Feedback})
				if err != nil {
					t.Fatal(err)
				}
			}
			no := <-done
			if (no == nil) != (tc.says == "") || no != nil && !strings.Contains(no.Content, tc.says) {
				t.Errorf("answered %+v, want %q", no, tc.says)
			}
		})
	}
}
