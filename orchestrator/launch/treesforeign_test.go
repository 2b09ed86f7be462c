package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestAgentProgramInItsCopy: a program starts in its member's working copy, is told
// of it, may write there, and is refused what all working copies share.
func TestAgentProgramInItsCopy(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{
			"edit proof here", "run git -C " + `"$COVEY_WORKSPACE"` + " stash", "run git add proof && git commit -qm proof",
			`mcp team_task_update {"taskId":"1","status":"completed"}`, "say Done.",
		}})
	r.Rewrite("team.yaml", "dev: {agent: fake}", `dev: {agent: fake, permissions: {allow: ["Bash(git *)"]}}`)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec",
		"git init -q -b main; git add -A; git -c user.name=u -c user.email=u@x commit -qm first")
	cmd.Dir = r.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g := teamtest.Grove{Rig: r}
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if _, err := os.Stat(filepath.Join(r.Dir, "proof")); err == nil {
		t.Error("it wrote into the workspace")
	}
	// git knows no user here: the commit is the member's.
	if got := g.Git("log -1 --format='%an %ae %s' covey/crew/dev"); got != "dev dev@crew.covey.invalid proof" {
		t.Errorf("its branch has %q", got)
	}
	env := "\n" + testkit.Read(t, filepath.Join(dir, "env")) + "\n"
	if copy := teamtest.RealPath(t, g.Tree("dev")); !strings.Contains(env, "\nPWD="+copy+"\n") {
		t.Errorf("PWD is not %s:\n%s", copy, env)
	}
	if prompt := strings.Join(toldFake(t, dir, "prompt"), "\n"); !strings.Contains(prompt, "your own git working copy on the branch covey/crew/dev") {
		t.Errorf("it was not told where it works:\n%s", prompt)
	}
	if results := toldFake(t, dir, "result"); len(results) < 2 || results[1] != "denied" {
		t.Errorf("git stash in the workspace: %q", results)
	}
}
