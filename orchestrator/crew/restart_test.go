package crew_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestRestartOfALife: a member whose agent breaks begins anew under a new epoch, with
// its task, until it works; one that keeps breaking leaves, and its task is open again.
func TestRestartOfALife(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]int32{"twice": 2, "always": 99} {
		var lives atomic.Int32
		maker := func(orchestrator.Brief) (agent.Agent, error) {
			if lives.Add(1) <= breaks {
				return nil, errors.New("no luck")
			}
			return teamtest.AgentFunc(func(ctx context.Context, in []agent.Input, h agent.Host) (agent.Reply, error) {
				call := agent.ToolCall{ID: "c", Name: "TaskUpdate",
					Input: []byte(`{"taskId":"1","status":"completed"}`)}
				h.Call(ctx, call)
				return agent.Reply{Text: "done"}, nil
			}), nil
		}
		spec := strings.Replace(teamtest.GivenSpec, "dev: {agent: dev", "dev: {agent: dev, restart: {max: 2, within: 5m}", 1) +
			"tasks: [{subject: Look around, owner: dev}]\n"
		o, log, err := teamtest.NewGiven(t, t.TempDir(), spec,
			orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": maker}, Overrides: orchestrator.Overrides{Clock: (&teamtest.HandClock{}).Clock()}})
		if err != nil {
			t.Fatal(err)
		}
		ending, err := o.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := teamtest.Show(log.All())
		if lives.Load() != 3 || strings.Count(told, "member_restarts") != 2 {
			t.Errorf("%s: the agent was made %d times\n%s", name, lives.Load(), told)
		}
		if breaks == 2 && ending.Code != orchestrator.CodeDone {
			t.Errorf("%s: %+v\n%s", name, ending, told)
		}
		if breaks > 2 && (ending.Code != orchestrator.CodeUnfinished || !strings.Contains(told,
			"it was started again 2 times in 5m0s, and is not any more") ||
			!strings.Contains(told, "Open again: task 1")) {
			t.Errorf("%s: %+v\n%s", name, ending, told)
		}
	}
}

// TestRestartOfATurn: with a policy in the spec, turns that fail count: the member
// begins anew, and leaves when it has failed too often. Without one they are tried again,
// and then it needs attention.
func TestRestartOfATurn(t *testing.T) {
	t.Parallel()
	for restart, want := range map[string]string{
		", restart: {max: 2, within: 5m}": "dev has left the team: its last turn failed",
		"":                                "dev needs attention",
	} {
		r := teamtest.NewRig(t, map[string]string{
			"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}", "dev: {model: dev"+restart+"}", 1) +
				"tasks: [{id: a, subject: Do it, owner: dev}]\n",
			"lead.yaml": "steps: [{say: Fine., times: -1}]",
			"dev.yaml":  "steps: [{error: {type: overloaded}, times: -1}]",
		})
		u := teamtest.Start(r, &teamtest.HandClock{})
		if restart == "" {
			u.GoThrough(1, teamtest.RetryLimit)
		}
		e := u.End()
		told := teamtest.Show(u.Lines.All())
		if e.Code != orchestrator.CodeUnfinished || !strings.Contains(told, want) && !strings.Contains(told,
			"takes no more turns: its last turn failed") {
			t.Errorf("%q: %+v\n%s", restart, e, told)
		}
		if n := strings.Count(told, "member_restarts"); restart != "" && n != 2 || restart == "" && n != 0 {
			t.Errorf("%q: restarted %d times\n%s", restart, n, told)
		}
	}
}
