package orchestrator

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
)

// owningProgram is a team whose dev, an agent program, owns docs alone and works in a
// working copy of its own.
func owningProgram(t *testing.T, more string, acts ...act) (grove, string) {
	t.Helper()
	r, dir := newFakeRig(t, leadLetsWork, "defaults: {permission_mode: bypassPermissions}\n"+more+ownedByDev, acts...)
	r.rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, owns: [docs/**]}")
	for name, text := range map[string]string{"docs/a.md": "a\n", "main.go": "package main\n"} {
		if err := os.MkdirAll(r.dir+"/docs", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Commit(t, r.dir)
	return grove{r}, dir
}

// TestProgramAsksToWriteOutside: a program that asks is refused what is not its
// member's, before it writes, and also by a path that goes up again.
func TestProgramAsksToWriteOutside(t *testing.T) {
	t.Parallel()
	g, dir := owningProgram(t, "merge: {into: main}\n", act{When: "You own task #1", Do: []string{
		"askedit docs/b.md b", "askedit main.go x", "askedit docs/../other.go x",
		"run git add -A && git commit -qm docs", finishes,
	}})
	g.want(g.run(Options{}), CodeDone, "all work is done")
	results := toldFake(t, dir, "result")
	if got := strings.Join(results[:3], ", "); got != "written, denied, denied" {
		t.Errorf("it was answered %q", results)
	}
	var refused []string
	for _, p := range of[events.PermissionDecided](g.rig, "permission") {
		if p.Decision == "deny" {
			refused = append(refused, fmt.Sprintf("%s by %s", p.Tool, p.Rule))
		}
	}
	if got := strings.Join(refused, ", "); got != "Write by owns, Write by owns" {
		t.Errorf("refused: %s\n%s", got, show(g.lines.All()))
	}
	if got := g.git("show main:docs/b.md main:main.go"); got != "bpackage main" {
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
			"edit docs/a.md 2", "edit main.go 2", "edit new.go n", "run git add -A; git commit -qm all", finishes,
			"run " + back, finishes,
		}})
	g.want(g.run(Options{}), CodeDone, "all work is done")
	g.wantMerged(map[string]tasks.MergeState{"covey/crew/task_1": tasks.MergeDone})
	if got := g.git("show main:docs/a.md main:main.go"); got != "2package main" {
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
		act{When: "files that are not yours", Do: []string{"run git checkout -q -- main.go", finishes}},
		act{When: "You own task #1", Do: []string{claims, "edit main.go 2", "say Done, I think."}})
	g.want(g.run(Options{}), CodeDone, "all work is done")
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) < 2 || !strings.Contains(prompts[1], "- main.go") || !strings.Contains(prompts[1],
		"You may write to docs/**") {
		t.Errorf("it was told %q", prompts)
	}
	detected := of[events.CallDetected](g.rig, "call_detected")
	if len(detected) == 0 || detected[0].Tool != "Write" {
		t.Errorf("detected %+v", detected)
	}
}

// TestProgramInAWorkspaceWithProtectedFiles: where nobody is there to be asked, what
// is protected is refused to a program as well.
func TestProgramInAWorkspaceWithProtectedFiles(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, leadLetsWork, "defaults: {permission_mode: bypassPermissions}\nprotect: [\"*.lock\"]\n"+ownedByDev,
		act{When: "You own task #1", Do: []string{"askedit go.lock x", "askedit go.txt x", finishes}})
	r.want(r.run(Options{}), CodeDone, "all work is done")
	resultsLike(t, dir, "denied", "written", "Updated task #1")
	if _, err := os.Stat(r.dir + "/go.lock"); err == nil {
		t.Error("the protected file is there")
	}
}
