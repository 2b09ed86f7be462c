package main_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealAgentsRunTheGauntlet: each agent program works in a team with the
// team's tools, its rules and all its gates.
func TestRealAgentsRunTheGauntlet(t *testing.T) {
	two := make(chan struct{}, 2)
	for _, preset := range slices.Sorted(maps.Keys(realAgents())) {
		inBoxes(t, preset, func(t *testing.T, box string) {
			t.Parallel()
			env := needAgents(t, preset)
			takeTurns(t, two)
			team := startTeam(t, layOut(t, "gauntlet", preset, box), env)
			team.finish(t)
			team.checkBox(t, box)
			team.checkTools(t)
			team.checkRules(t)
			team.checkRefusals(t)
			team.checkTurnEnds(t)
			team.checkLedger(t)
			if _, err := os.Stat(filepath.Join(team.dir, "workspace", "sealed", "early")); err == nil {
				t.Error("what a rule denied was done")
			}
			told := team.transcriptOf(t, "kim")
			for _, want := range []string{
				"has been denied", "Done says nothing", "must say total: 42", "Task 2 (Seal the ledger)", "The ledger is sealed.",
			} {
				if !strings.Contains(told, want) {
					t.Errorf("the transcript of kim lacks %q", want)
				}
			}
			if t.Failed() {
				t.Log(team.story(t))
			}
		})
	}
}

// checkLedger: the work is done.
func (team *liveTeam) checkLedger(t *testing.T) {
	t.Helper()
	checkFile(t, filepath.Join(team.dir, "workspace", "ledger.txt"), "day: 1\ntotal: 42\n")
	checkFile(t, filepath.Join(team.dir, "workspace", "sealed", "seal.txt"), "sealed\n")
}

// checkTools: tasks were claimed and completed, and a message was sent, by
// calls of team tools that came over MCP.
func (team *liveTeam) checkTools(t *testing.T) {
	t.Helper()
	at := 0
	for _, step := range []struct {
		what string
		fits func(journalLine) bool
	}{
		{"call of team_task_claim", called("mcp__covey__team_task_claim")},
		{"claim of task 1", taskOp("claimed", "1")},
		{"call of team_send_message", called("mcp__covey__team_send_message")},
		{"message to the lead", mail("kim", "lead")},
		{"call of team_task_update", called("mcp__covey__team_task_update")},
		{"completion of task 1", taskOp("completed", "1")},
		{"claim of task 2", taskOp("claimed", "2")},
		{"completion of task 2", taskOp("completed", "2")},
	} {
		// The store's lines and the program's come from two sides; within each side
		// the order is certain.
		if i := team.find(0, step.fits); i < 0 {
			t.Errorf("there is no %s", step.what)
		} else if strings.Contains(step.what, "task ") {
			if i < at {
				t.Errorf("the %s came too early", step.what)
			}
			at = i
		}
	}
	for _, id := range []string{"1", "2"} {
		if who := team.completedBy(id); who != "kim" {
			t.Errorf("task %s was completed by %s", id, who)
		}
	}
}

// checkRules: a rule allowed a call, another one denied one, edits were asked
// about, and nothing was done behind the rules' back.
func (team *liveTeam) checkRules(t *testing.T) {
	t.Helper()
	for _, want := range []struct{ tool, decision, by, command string }{
		{"Bash", "allow", "rule", "mkdir sealed"},
		{"Bash", "deny", "rule", "touch sealed/early && echo too early"},
		{"Edit", "allow", "mode", ""},
		{"Write", "allow", "mode", ""},
	} {
		i := team.find(0, func(l journalLine) bool {
			return l.Type == "permission" && l.Data.Decision == want.decision && l.Data.By == want.by &&
				l.Data.Tool == want.tool && team.callText(l.Data.ID, "kim") == want.command
		})
		if i < 0 {
			t.Errorf("no permission %+v", want)
		}
	}
	for _, l := range team.line {
		if l.Type == "call_detected" && l.Data.Tool != "Read" {
			t.Errorf("kim called %s without asking", l.Data.Tool)
		}
		if l.Type == "warning" || l.Type == "needs_attention" {
			t.Errorf("%s: %s: %s%s", l.Member, l.Type, l.Data.Text, l.Data.Reason)
		}
	}
}

// checkRefusals: each gate refused what it was there to refuse, and the
// refusals were mended in order.
func (team *liveTeam) checkRefusals(t *testing.T) {
	t.Helper()
	stop := team.find(0, feedback("kim", "Stop", "Done says nothing"))
	task := team.find(stop, feedback("kim", "TaskCompleted", "must say total: 42"))
	idle := team.find(task, feedback("kim", "TeammateIdle", "Task 2 (Seal the ledger)"))
	if stop < 0 || task < 0 || idle < 0 || team.find(idle, taskOp("claimed", "2")) < 0 {
		t.Errorf("refusals of Stop, TaskCompleted and TeammateIdle stand at %d, %d, %d; all must be there, in this order",
			stop, task, idle)
	}
	for event, text := range map[string]string{
		"Stop": "", "TaskCompleted": "", "TeammateIdle": "Task 2 (Seal the ledger)",
	} {
		if n := team.count(feedback("kim", event, text)); n != 1 {
			t.Errorf("%s refused %d times, want once", event, n)
		}
	}
}

// called fits a tool call of kim's.
func called(tool string) func(journalLine) bool {
	return func(l journalLine) bool { return l.Type == "tool_call" && l.Member == "kim" && l.Data.Name == tool }
}

// checkFile holds a file against what it must be.
func checkFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is %q (%v), want %q", filepath.Base(path), got, err, want)
	}
}
