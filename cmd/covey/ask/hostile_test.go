package ask

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/workcopies"
)

// TestHostilePs: whatever is in any text of a team, `covey ps` prints it as plain as it looks.
func TestHostilePs(t *testing.T) {
	for _, payload := range append(teamtest.Payloads(), teamtest.LongPayload()[:32<<10]) {
		status := api.Status{
			Team: "crew", Workspace: "/w", PID: 7, Up: true, Result: &state.RunResult{Reason: "done"},
			Members: []api.MemberStatus{
				{Name: "ana", Agent: "acp", State: api.Working, Doing: "d", Task: "3", Subject: "s",
					Attention: "a", Background: []string{"b"},
					Worktree: &workcopies.Status{Path: "p", Branch: "b"}},
				{Name: "ben", Agent: "acp", State: api.Limited, WaitsFor: "w", LimitedUntil: time.Now()},
				{Name: "cem", Agent: "acp", State: api.Ended, Attention: "a"},
			},
		}
		texts.MaskAll(&status, func(old string) string { return teamtest.Hostile(old, payload) })
		c, out, _ := program()
		printStatus(c.Out, status, time.Now())
		status.PID = 0
		printStatus(c.Out, status, time.Now())
		teamtest.CheckPlain(t, payload, out.String())
	}
}

// TestHostileAnswer: so it does with what a team tool says.
func TestHostileAnswer(t *testing.T) {
	for _, payload := range teamtest.Payloads() {
		c, out, _ := program()
		if err := printToolAnswer(c.Out, api.TeamAnswer{Text: payload}); err != nil {
			t.Fatal(err)
		}
		teamtest.CheckPlain(t, payload, out.String())
	}
}
