package orchestrator

import (
	"os"
	"strings"
	"testing"
)

// TestSharedHooks: what a gate's command leaves behind is not the doing of the program that
// it judges, and neither is what covey merges into the workspace.
func TestSharedHooks(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, leadLetsWork, "defaults: {permission_mode: bypassPermissions, isolation: shared}\n"+
		"gates: {stop: [\"echo $$ >report.txt\"]}\n"+ownedByDev,
		act{When: "You own task #1", Do: []string{claims, "say Let me think."}},
		act{When: "task", Do: []string{"edit docs 1", finishes}})
	r.rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, owns: [docs]}")
	r.want(r.run(Options{}), CodeDone, "all work is done")
	if prompts := strings.Join(toldFake(t, dir, "prompt"), "\n"); strings.Contains(prompts, "not yours") {
		t.Errorf("it was told %q", prompts)
	}
	if _, err := os.Stat(r.dir + "/report.txt"); err != nil {
		t.Error("the gate has left nothing behind")
	}
}
