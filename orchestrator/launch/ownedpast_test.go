package launch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestSharedHooks: what a gate's command leaves behind is not the doing of the program that
// it judges, and neither is what covey merges into the workspace.
func TestSharedHooks(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "defaults: {permission_mode: bypassPermissions, isolation: shared}\n"+
		"gates: {stop: [\"echo $$ >report.txt\"]}\n"+teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, "say Let me think."}},
		act{When: "task", Do: []string{"edit docs 1", teamtest.Finishes}})
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, owns: [docs]}")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if prompts := strings.Join(toldFake(t, dir, "prompt"), "\n"); strings.Contains(prompts, "not yours") {
		t.Errorf("it was told %q", prompts)
	}
	if _, err := os.Stat(r.Dir + "/report.txt"); err != nil {
		t.Error("the gate has left nothing behind")
	}
}
