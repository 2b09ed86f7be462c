package main_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// example is one example after its team has run.
type example struct {
	dir  string   // the example's folder in a repository of its own
	out  string   // what `covey up` printed
	env  []string // of covey
	line []journalLine
}

// exampleChecks say what the team of each example must have done. They look at
// what is so on any machine at any speed, not at who was faster.
func exampleChecks() map[string]func(*testing.T, example) {
	return map[string]func(*testing.T, example){
		"quickstart":  checkQuickstart,
		"idle-policy": checkIdlePolicy,
		"mixed-team":  checkMixedTeam,
		"plugins":     checkPlugins,
		"worktrees":   checkWorktrees,
		"ci":          checkCI,

		"policy-tests": checkPolicyTests,

		"models-anthropic": checkModels(1, "writer", "TaskCompleted", "NOTES.md does not name #17"),
		"models-local":     checkModels(1, "translator", "TaskCompleted", "de.txt has 2 lines, and en.txt 3"),
		"models-mixed":     checkModels(2, "builder", "TaskCompleted", "sh greet.sh prints: Hello, !"),
	}
}

// exampleAgents are the agent programs that an example needs, as presets.
func exampleAgents() map[string][]string {
	return map[string][]string{"mixed-team": slices.Collect(maps.Keys(realAgents()))}
}

// examplePrograms are other programs that an example needs.
func examplePrograms() map[string][]string {
	return map[string][]string{"plugins": {"python3"}}
}

// TestExamples runs the team of every folder of examples/ as its README says:
// through the program, and in a clone, which a run must leave clean.
func TestExamples(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the examples' scripts are for /bin/sh")
	}
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel()
			check, known := exampleChecks()[entry.Name()]
			if !known {
				t.Fatalf("nothing is known of examples/%s; say in exampleChecks what its team must have done", entry.Name())
			}
			for _, program := range examplePrograms()[entry.Name()] {
				if err := exec.Command(program, "--version").Run(); err != nil {
					t.Skipf("the example needs %s: %v", program, err)
				}
			}
			env := append(os.Environ(), "COVEY_STATE_HOME="+t.TempDir(), "NO_COLOR=1")
			if agents := exampleAgents()[entry.Name()]; agents != nil {
				env = needAgents(t, agents...)
			}
			e := runExample(t, entry.Name(), env)
			check(t, e)
			e.checkTurnEnds(t)
			e.checkReadme(t)
			e.checkSecondRun(t)
			if changes := gitOutput(t, e.dir, "status", "--porcelain"); changes != "" {
				t.Errorf("the run changed the clone:\n%s", changes)
			}
		})
	}
}

// runExample runs an example in a clone of its own, from the clone's root, and
// reads the journal.
func runExample(t *testing.T, name string, env []string) example {
	t.Helper()
	dir := copyExample(t, name)
	clone := filepath.Dir(dir)
	gitOutput(t, clone, "init", "-q")
	gitOutput(t, clone, "add", ".")
	gitOutput(t, clone, "commit", "-q", "-m", "as it is cloned")
	if name == "worktrees" {
		resetExample(t, dir)
	}
	serveOffline(t, dir, env)
	e := example{dir: dir, env: env}
	e.out = e.covey(t, clone, "up", name+"/team.yaml", "--trust")
	e.line = readLines(t, e.covey(t, dir, "logs", "--json"))
	return e
}

// covey runs the program in dir; it must end with code 0. It gives what was
// printed.
func (e example) covey(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("covey", args...) // TestMain has put the test binary on the PATH under this name
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = dir, e.env, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("covey %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// gitOutput runs git in dir as somebody in particular, with no configuration
// of this machine.
func gitOutput(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// checkReadme holds the README against the run: the lead's answer, which the
// run ends with, stands there as it is.
func (e example) checkReadme(t *testing.T) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(e.dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	answer := e.answer()
	if answer == "" || !strings.Contains(e.out, answer) {
		t.Errorf("covey up does not end with the lead's answer %q:\n%s", answer, e.out)
	}
	for line := range strings.Lines(answer) {
		if !strings.Contains(string(readme), strings.TrimSpace(line)) {
			t.Errorf("the README does not show the lead's answer; put there what covey up prints: %q", line)
		}
	}
}

// checkSecondRun finds that a team which is done stays so.
func (e example) checkSecondRun(t *testing.T) {
	t.Helper()
	if out := e.covey(t, e.dir, "up", "--trust"); !strings.Contains(out, "nothing is new") {
		t.Errorf("a second run of a team that is done says:\n%s", out)
	}
}

// checkAllDone finds that the team finished all of n tasks, and that every hook
// that was to check something did.
func (e example) checkAllDone(t *testing.T, n int) {
	t.Helper()
	done := map[string]bool{}
	for _, l := range e.line {
		switch l.Type {
		case "task":
			done[l.Data.Task.ID] = l.Data.Op == "completed"
		case "hook_finished":
			if l.Data.Outcome != "success" && l.Data.Outcome != "blocking" {
				t.Errorf("hook %s on %s: %s: %s", l.Data.Command, l.Data.Event, l.Data.Outcome, l.Data.Stderr)
			}
		case "warning", "needs_attention":
			t.Errorf("%s: %s: %s%s", l.Member, l.Type, l.Data.Text, l.Data.Reason)
		}
	}
	for id, completed := range done {
		if !completed {
			t.Errorf("task %s is not completed in the end", id)
		}
	}
	if len(done) != n {
		t.Errorf("there were %d tasks, want %d", len(done), n)
	}
	if last := e.line[len(e.line)-1]; last.Type != "team_ended" || last.Data.ExitCode != 0 {
		t.Errorf("the journal ends with %+v", last)
	}
}

// checkQuickstart: gates refuse, and the work gets better for it.
func checkQuickstart(t *testing.T, e example) {
	e.checkAllDone(t, 4)
	for _, id := range []string{"2", "3"} {
		worker := e.completedBy(id)
		refused := e.find(0, feedback(worker, "TaskCompleted", "fails:"))
		if e.find(refused, taskOp("completed", id)) < 0 || refused < 0 {
			t.Errorf("no TaskCompleted refusal of %s (task %s) before its completion", worker, id)
		}
	}
	if e.find(0, mail("ana", "ben")) < 0 {
		t.Error("ana never wrote to ben")
	}
	if e.find(0, told("ben", "4", "the discount already")) < 0 {
		t.Error("ben did not write into task 4 what its owner needs")
	}
	e.checkTurns(t)
	last := e.completedBy("4")
	refused := e.find(0, feedback(last, "TeammateIdle", "Task 4"))
	if claimed := e.find(refused, taskOp("claimed", "4")); refused < 0 || claimed < 0 ||
		e.line[claimed].Member != last {
		t.Errorf("no TeammateIdle refusal made %s claim task 4", last)
	}
	if e.count(feedback("ben", "Stop", "tells nobody anything")) != 1 {
		t.Error("the Stop gate did not refuse ben's \"Done.\", or more than once")
	}
	denied := e.find(0, func(l journalLine) bool { return l.Type == "permission" && l.Data.Decision == "deny" })
	if denied < 0 || e.line[denied].Data.By != "hook" || !strings.HasSuffix(e.callText(e.line[denied].Data.ID, "lead"), "push") {
		t.Error("the hook did not deny the lead's git push")
	}
	till := filepath.Join(e.dir, "workspace", "till")
	if log := gitOutput(t, till, "log", "--format=%s"); strings.Count(log, "\n") != 2 {
		t.Errorf("the till's commits are\n%swant two", log)
	}
	if changes := gitOutput(t, till, "status", "--porcelain"); changes != "" {
		t.Errorf("the lead left changes uncommitted:\n%s", changes)
	}
	if out, err := exec.Command("go", "-C", till, "test", "./...").CombinedOutput(); err != nil {
		t.Errorf("the till's tests: %v\n%s", err, out)
	}
}

// checkIdlePolicy: three policies refuse, then two, then one, then none.
func checkIdlePolicy(t *testing.T, e example) {
	e.checkAllDone(t, 2)
	var refusals []int
	for _, end := range e.turnEnds("mason") {
		if idle := end.runs[len(end.runs)-1]; idle.event == "TeammateIdle" {
			refusals = append(refusals, idle.refusals)
		}
	}
	if len(refusals) < 4 || refusals[0] != 3 || refusals[1] != 2 || refusals[2] != 1 || refusals[3] != 0 {
		t.Errorf("TeammateIdle refused %v times, want 3, 2, 1, 0", refusals)
	}
	notes := filepath.Join(e.dir, "workspace", "notes")
	if files := gitOutput(t, notes, "ls-files"); files != "bye.txt\nhello.txt\n" {
		t.Errorf("git has the files\n%s", files)
	}
	if changes := gitOutput(t, notes, "status", "--porcelain"); changes != "" {
		t.Errorf("mason left changes uncommitted:\n%s", changes)
	}
}
