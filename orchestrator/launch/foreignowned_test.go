package launch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// owningProgram is a team whose dev, an agent program, owns docs alone and works in a
// working copy of its own.
func owningProgram(t *testing.T, more string, acts ...act) (teamtest.Grove, string) {
	t.Helper()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "defaults: {permission_mode: bypassPermissions}\n"+more+teamtest.OwnedByDev, acts...)
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, owns: [docs/**]}")
	for name, text := range map[string]string{"docs/a.md": "a\n", "main.go": "package main\n"} {
		if err := os.MkdirAll(r.Dir+"/docs", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.Dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Commit(t, r.Dir)
	return teamtest.Grove{Rig: r}, dir
}

// TestProgramAsksToWriteOutside: a program that asks is refused what is not its
// member's, before it writes, and also by a path that goes up again.
func TestProgramAsksToWriteOutside(t *testing.T) {
	t.Parallel()
	g, dir := owningProgram(t, "merge: {into: main}\n", act{When: "You own task #1", Do: []string{
		"askedit docs/b.md b", "askedit main.go x", "askedit docs/../other.go x",
		"run git add -A && git commit -qm docs", teamtest.Finishes,
	}})
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	results := toldFake(t, dir, "result")
	if got := strings.Join(results[:3], ", "); got != "written, denied, denied" {
		t.Errorf("it was answered %q", results)
	}
	var refused []string
	for _, p := range teamtest.Of[events.PermissionDecided](g.Rig, "permission") {
		if p.Decision == "deny" {
			refused = append(refused, fmt.Sprintf("%s by %s", p.Tool, p.Rule))
		}
	}
	if got := strings.Join(refused, ", "); got != "Write by owns, Write by owns" {
		t.Errorf("refused: %s\n%s", got, teamtest.Show(g.Lines.All()))
	}
	if got := g.Git("show main:docs/b.md main:main.go"); got != "bpackage main" {
		t.Errorf("main has %q", got)
	}
}

// TestProgramWritesOutside: what a program wrote without asking is found when it would
// complete its task, with the files and the way back; only what is its own is merged.
func TestProgramWritesOutside(t *testing.T) {
	t.Parallel()
	back := "git checkout -q $(git merge-base HEAD main) -- main.go; git rm -qf --cached new.go; rm new.go; git commit -qm back"
	g, dir := owningProgram(t, "merge: {into: main}\n",
		act{When: "You own task #1", Do: []string{
			"edit docs/a.md 2", "edit main.go 2", "edit new.go n", "run git add -A; git commit -qm all", teamtest.Finishes,
			"run " + back, teamtest.Finishes,
		}})
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	g.WantMerged(map[string]tasks.MergeState{"covey/crew/task_1": tasks.MergeDone})
	if got := g.Git("show main:docs/a.md main:main.go"); got != "2package main" {
		t.Errorf("main has %q", got)
	}
	results := toldFake(t, dir, "result")
	for i, words := range map[int]string{4: "- main.go | - new.go", 6: "Updated task #1"} {
		if len(results) <= i || !strings.Contains(results[i], words) {
			t.Errorf("answer %d lacks %q: %q", i, words, results)
		}
	}
}

// TestProgramLeavesItOutside: without a task that would be completed it is the turn's
// end that refuses, and the program gets the list as its next prompt.
func TestProgramLeavesItOutside(t *testing.T) {
	t.Parallel()
	g, dir := owningProgram(t, "",
		act{When: "files that are not yours", Do: []string{"run git checkout -q -- main.go", teamtest.Finishes}},
		act{When: "You own task #1", Do: []string{teamtest.Claims, "edit main.go 2", "say Done, I think."}})
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) < 2 || !strings.Contains(prompts[1], "- main.go") || !strings.Contains(prompts[1],
		"You may write to docs/**") {
		t.Errorf("it was told %q", prompts)
	}
	detected := teamtest.Of[events.CallDetected](g.Rig, "call_detected")
	if len(detected) == 0 || detected[0].Tool != "Write" {
		t.Errorf("detected %+v", detected)
	}
}

// TestProgramInAWorkspaceWithProtectedFiles: where nobody is there to be asked, what
// is protected is refused to a program as well.
func TestProgramInAWorkspaceWithProtectedFiles(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "defaults: {permission_mode: bypassPermissions}\nprotect: [\"*.lock\"]\n"+teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{"askedit go.lock x", "askedit go.txt x", teamtest.Finishes}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	resultsLike(t, dir, "denied", "written", "Updated task #1")
	if _, err := os.Stat(r.Dir + "/go.lock"); err == nil {
		t.Error("the protected file is there")
	}
}
