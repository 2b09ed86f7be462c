package orchestrator

import (
	"strings"
	"testing"
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
			r, _ := newFakeRig(t, leadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
				act{When: "You own task #1", Do: tt.do})
			r.want(r.run(Options{}), CodeDone, "all work is done")
			if got := r.warnings("tools/list"); len(got) != tt.want || tt.want > 0 && !strings.Contains(got[0], "had none of them") {
				t.Errorf("the warnings are %q", got)
			}
		})
	}
}
