package launch_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestMemoryOfAProgram: an agent program that asks may write to its own memory, and to no other.
func TestMemoryOfAProgram(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n")
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, memory: on}")
	memory := r.Place().Memory()
	setPlay(t, dir, play{Scenes: []act{{When: "You own task #1", Do: []string{
		"askedit " + memory + "/dev/MEMORY.md tabs", "askread " + memory + "/dev/MEMORY.md", "askedit " + memory + "/lead/MEMORY.md x",
		"askedit " + memory + "/../notes x", teamtest.Finishes}}}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if got := strings.Join(toldFake(t, dir, "result")[:4], ", "); got != "written, tabs, denied, denied" {
		t.Errorf("it was answered %q", got)
	}
	if prompt := strings.Join(toldFake(t, dir, "prompt"), "\n"); !strings.Contains(prompt, "You have a memory, the folder "+memory+"/dev.") {
		t.Errorf("it was told %s", prompt)
	}
}
