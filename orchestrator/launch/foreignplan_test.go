package launch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// What a program that must plan does.
const (
	plansOne = `mcp team_submit_plan {"plan":"one, two"}`
	plansAll = `mcp team_submit_plan {"plan":"one, two, three"}`
	makes    = "run echo ran >>made"
)

// planningRig is a team whose dev, an agent program, must plan. The program goes by
// the name of one that asks before it does anything, as such a spec demands.
func planningRig(t *testing.T, lead, more string, acts ...act) (*teamtest.Rig, string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(fakeBinary(t), filepath.Join(bin, "qwen")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	r, dir := newFakeRig(t, lead, "defaults: {permission_mode: bypassPermissions}\n"+more+teamtest.OwnedByDev, acts...)
	r.Rewrite("team.yaml", fmt.Sprintf("use: acp, command: [%q]", fakeBinary(t)), "use: qwen")
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, plan: required}")
	return r, dir
}

// resultsLike checks what a program was answered, call by call.
func resultsLike(t *testing.T, dir string, want ...string) {
	t.Helper()
	got := toldFake(t, dir, "result")
	if len(got) != len(want) {
		t.Fatalf("it was answered %d times, want %d: %q", len(got), len(want), got)
	}
	for i, words := range want {
		if !strings.Contains(got[i], words) {
			t.Errorf("answer %d is %q, want %q", i, got[i], words)
		}
	}
}

// TestProgramPlans: what holds for the builtin agent holds for a program that submits
// its plan over MCP: it may run nothing and complete nothing, a no comes with the
// words that the next plan has to heed, and a yes lets it work.
func TestProgramPlans(t *testing.T) {
	r, dir := planningRig(t, teamtest.LeadDecides, "",
		act{When: "You own task #1", Do: []string{teamtest.Claims, "run echo early >>made", teamtest.Finishes, plansOne,
			"say I wait."}},
		act{When: `approve":false`, Do: []string{plansAll, "say I wait again."}},
		act{When: `approve":true`, Do: []string{makes, teamtest.Finishes, plansAll, "say Done."}},
	)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "ran\n" {
		t.Errorf("made %q", r.Made())
	}
	resultsLike(t, dir, "#1", "denied", "your plan is not approved yet", "submitted to lead for approval",
		"submitted to lead for approval", "", "Updated task #1", "approved already")
	prompts := toldFake(t, dir, "prompt")
	if !strings.Contains(prompts[0], "submit your plan with team_submit_plan") ||
		strings.Contains(prompts[0], inbox.PlanTool) {
		t.Errorf("it was told of another way to submit its plan: %s", prompts[0])
	}
	if !slices.ContainsFunc(prompts, func(p string) bool { return strings.Contains(p, "and three") }) {
		t.Errorf("it was not told why its plan was refused: %q", prompts)
	}
	var states []string
	for _, q := range teamtest.Of[requests.Request](r, "request") {
		states = append(states, string(q.State)+" "+q.By)
	}
	if got := strings.Join(states, ", "); got != "open , denied lead, open , approved lead" {
		t.Errorf("requests went %s", got)
	}
}

// TestProgramsPlanIsEmpty: there is nothing that somebody could approve.
func TestProgramsPlanIsEmpty(t *testing.T) {
	r, dir := planningRig(t, teamtest.LeadDecides, "",
		act{When: "You own task #1", Do: []string{
			`mcp team_submit_plan {"plan":" \n"}`, `mcp team_submit_plan {}`, `mcp team_submit_plan {"plan":7}`, plansOne,
		}},
		act{When: `approve":false`, Do: []string{plansAll}},
		act{When: `approve":true`, Do: []string{teamtest.Finishes}},
	)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	results := toldFake(t, dir, "result")
	if len(results) != 6 {
		t.Fatalf("answers %q", results)
	}
	for i, words := range []string{"the plan is empty", "plan", "plan"} {
		if !strings.Contains(results[i], words) || strings.Contains(results[i], "submitted") {
			t.Errorf("answer %d is %q, want %q", i, results[i], words)
		}
	}
	if n := len(teamtest.Of[requests.Request](r, "request")); n != 4 {
		t.Errorf("%d changes of requests, want two questions and two answers", n)
	}
}

// TestOnlyWhoMustPlanHasTheTool: to all others there is no such tool.
func TestOnlyWhoMustPlanHasTheTool(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev, act{When: "You own task #1", Do: []string{plansOne, teamtest.Finishes}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	resultsLike(t, dir, "team_submit_plan", "Updated task #1")
	if n := len(teamtest.Of[requests.Request](r, "request")); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestProgramBreaksItsPlanMode: what a program does before its plan is approved, and
// without asking, cannot be kept from happening; it is stopped, people are told, and
// it is not given the same again.
func TestProgramBreaksItsPlanMode(t *testing.T) {
	r, dir := planningRig(t, teamtest.LeadLetsWork, "keep: true\n",
		act{When: "You own task #1", Do: []string{teamtest.Claims, "edit early x", "hang"}})
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Lines.Wait(t, "the breach", func(l events.Line) bool {
		return l.Type == "call_detected" && strings.Contains(string(l.Data), `"broke":"permission mode plan"`)
	})
	u.Lines.Wait(t, "the turn to end", func(l events.Line) bool {
		return l.Member == "dev" && l.Type == "turn_ended" && strings.Contains(string(l.Data), "aborted")
	})
	testkit.Eventually(t, "the program to hear of it", func() bool { return len(toldFakeAll(t, dir, "cancelled")) == 1 })
	warned := slices.ContainsFunc(teamtest.Of[events.Warning](r, "warning"), func(w events.Warning) bool {
		return strings.Contains(w.Text, "it makes changes before its plan is approved")
	})
	if !warned {
		t.Errorf("people are not told why:\n%s", teamtest.Show(u.Lines.All()))
	}
	if list := u.Running(); list[0].Status == tasks.Completed {
		t.Errorf("the task is %+v", list[0])
	}
	u.Stop(errors.New("enough"))
	u.End()
}

// TestProgramsPlanOverARestart: an approval that was given is not asked for again by a
// program in the same session.
func TestProgramsPlanOverARestart(t *testing.T) {
	r, dir := planningRig(t, teamtest.LeadLetsWork, "",
		act{When: "You own task #1", Do: []string{plansOne, "say I wait."}},
		act{When: `approve":true`, Do: []string{makes, "hang"}},
		act{Do: []string{"run echo again >>made", teamtest.Finishes}},
	)
	u := teamtest.Start(r, &teamtest.HandClock{})
	q := u.Asked(requests.AskPlan)
	if q.Member != "dev" || inbox.RequestText(q) != "one, two" {
		t.Errorf("asked %+v", q)
	}
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: q.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "dev at work", func() bool { return r.Made() == "ran\n" && len(toldFakeAll(t, dir, "hang")) == 1 })
	u.Stop(errors.New("enough"))
	u.End()
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if r.Made() != "ran\nagain\n" {
		t.Errorf("made %q", r.Made())
	}
	if n := len(teamtest.Of[requests.Request](r, "request")); n != 0 {
		t.Errorf("it asked %d times more", n)
	}
}

// toldFakeAll are the lines of the fake's log that are just a word.
func toldFakeAll(t *testing.T, dir, word string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(testkit.Read(t, dir+"/log")) {
		if strings.TrimSpace(line) == word {
			lines = append(lines, word)
		}
	}
	return lines
}
