package orchestrator

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/gang"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
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
			c := &crew{store: testkit.OpenStore(t), loop: gang.NewLoop(nil), logins: loginsOf(nil, nil)}
			c.asks = inboxOf(c, tc.onAsk)
			s := &seat{crew: c, member: &roster.Member{Member: &configs.Member{Name: "dev"}},
				permissions: permission.Policy{Ask: []rules.Rule{rule}}}
			c.sit(s)
			stop, err := c.asks.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			done := make(chan *agent.ToolResult, 1)
			go func() {
				_, no := s.guard(t.Context(), api.TeamCall{Tool: teamtools.SendTool,
					Input: rawjson.Encode(map[string]string{"to": "lead"})}, "c1")
				done <- no
			}()
			if tc.answer != nil {
				testkit.Eventually(t, "the question", func() bool { return len(c.asks.Open()) == 1 })
				_, err := c.asks.Answer(t.Context(), actors.Actor{Name: actors.Operator},
					inbox.Answer{ID: c.asks.Open()[0].ID, Approve: tc.answer.Approve, Text: tc.answer.Feedback})
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

// TestPlanNeedsAnAgentThatAsks: where an agent asks nobody, an approval would come
// after the fact, and the spec is refused.
func TestPlanNeedsAnAgentThatAsks(t *testing.T) {
	must := configs.Member{Name: "dev", PlanRequired: true, Agent: configs.Agent{Kind: configs.Command, Name: "sh"}}
	free := must
	free.PlanRequired = false
	builtin := must
	builtin.Agent = configs.Agent{Kind: configs.Builtin}
	for name, tc := range map[string]struct {
		m    configs.Member
		says string
	}{
		"asks nobody": {must, `member dev: the mandatory "plan: required" cannot hold: agent sh makes such calls without asking`},
		"needs none":  {free, ""},
		"builtin":     {builtin, ""},
	} {
		err := launch.CheckDemands(&configs.Team{Lead: tc.m}, nil, launch.LookPath)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// inboxOf is the inbox of a crew without a spec.
func inboxOf(c *crew, onAsk configs.OnAsk) *inbox.Inbox {
	return inbox.New(&configs.Team{OnAsk: onAsk}, inbox.Ports{
		Store: c.store, Clock: c.clock, Log: slog.New(slog.DiscardHandler), Changed: c.loop.Poke, Go: c.members.Go,
		Attached: func() bool { return false }, Member: c.member, Gone: c.goneReason, Lend: c.lendSlot, Notify: c.notifyPeople,
		Closed: func(context.Context, requests.Request) error { return nil },
	})
}
