package launch_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestProgramWithoutTheTeamTools: a program that has not asked for the team's tools when
// it first answers is told of, once for each of its lives.
func TestProgramWithoutTheTeamTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   []string
		want int
	}{
		"asked":       {[]string{"list", "say I see them.", `mcp team_task_update {"taskId":"1","status":"completed"}`}, 0},
		"asked late":  {[]string{"edit seen nothing", "list", `mcp team_task_update {"taskId":"1","status":"completed"}`}, 1},
		"never asked": {[]string{"say I see nothing.", `mcp team_task_update {"taskId":"1","status":"completed"}`, "say Done."}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
				act{When: "You own task #1", Do: tt.do})
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			if got := r.Warnings("tools/list"); len(got) != tt.want || tt.want > 0 && !strings.Contains(got[0], "had none of them") {
				t.Errorf("the warnings are %q", got)
			}
		})
	}
}

// TestProgramKeepsTheTeamToolsFromItsModel: a program that lists the team's tools and does not know
// them when its model calls them is told of, once; not one that knows them.
func TestProgramKeepsTheTeamToolsFromItsModel(t *testing.T) {
	t.Parallel()
	const done = `mcp team_task_update {"taskId":"1","status":"completed"}`
	for name, tt := range map[string]struct {
		do   []string
		want int
	}{
		"unknown": {[]string{"list", "unknown team_members", "unknown team_task_list", done}, 1},
		"its own": {[]string{"list", "unknown other_tool", done}, 0},
		"a typo":  {[]string{"list", "mcp team_members {}", "unknown team_member", done}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
				act{When: "You own task #1", Do: tt.do})
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			if got := r.Warnings("itself refused a call of the team's tool team_members (Tool team_members not found.)"); len(got) != tt.want {
				t.Errorf("the warnings are %q", got)
			}
		})
	}
}
