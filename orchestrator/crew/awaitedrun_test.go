//go:build unix

package crew_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// builds is a team of a lead and a member that waits for a build, which blocks until the test
// opens its gate.
func builds(t *testing.T, more string) *teamtest.Rig {
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {model: dev}", "  dev: {model: dev, permission_mode: bypassPermissions}", 1) + `
tasks: [{id: a, subject: Build it, owner: dev}]
hooks:
  TaskCompleted: [{hooks: [{type: command, command: "echo task >>gates"}]}]
  TeammateIdle: [{hooks: [{type: command, command: "echo idle >>gates"}]}]
  UserPromptSubmit: [{hooks: [{type: command, command: "cat >>submitted"}]}]
  Stop: [{hooks: [{type: command, command: "cat >>stops"}]}]
` + more,
		"lead.yaml": `steps: [{say: Fine., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: "read x <gate; echo built; exit 3", description: the build, run_in_background: true}}]
  - say: I wait for the build.
  - when: "<summary>Background command \"the build\" failed with exit code 3</summary>|which ran in the background for you, was interrupted"
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: It is built., times: -1}
`,
	})
	if err := syscall.Mkfifo(filepath.Join(r.Dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// open lets the build end.
func open(r *teamtest.Rig) {
	if err := os.WriteFile(filepath.Join(r.Dir, "gate"), []byte("go\n"), 0o600); err != nil {
		r.T.Fatal(err)
	}
}

// TestRunIsAwaited: a member that waits for a command in its background is not idle, gates do not
// judge its work and nobody reminds it. The command's end gives it a turn.
func TestRunIsAwaited(t *testing.T) {
	t.Parallel()
	r := builds(t, "")
	u := teamtest.Start(r, &teamtest.HandClock{})
	r.Lines.Wait(t, "the end of dev's first turn", teamtest.TurnEnded("dev"))
	testkit.Eventually(t, "dev waits for its build", func() bool {
		m := u.Member("dev")
		return m.State == api.Waiting && strings.HasPrefix(m.WaitsFor, "command bash_1 in the background (read x <gate;")
	})
	if _, err := os.Stat(filepath.Join(r.Dir, "gates")); err == nil {
		t.Errorf("while the build runs its gates are asked: %s", r.Read("gates"))
	}
	if !strings.Contains(r.Read("stops"), `"background_tasks":[{"id":"bash_1","type":"shell","status":"running","description":"the build"`) {
		t.Errorf("the Stop hooks read %s", r.Read("stops"))
	}
	open(r)
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	for _, started := range teamtest.Of[events.TurnStarted](r, "turn_started") {
		if started.Cause == events.ByNudge {
			t.Errorf("it was reminded: %s", started.Prompt)
		}
	}
	if got := r.Read("submitted"); !strings.Contains(got, `"prompt":"<task-notification>\n<task-id>bash_1</task-id>`) {
		t.Errorf("UserPromptSubmit hooks read %s", got)
	}
	if got := r.Read("gates"); !strings.HasSuffix(got, "idle\n") {
		t.Errorf("in the end its gates were asked: %q", got)
	}
}

// TestRunIsCutOff: a command in the background that ends with covey is told as interrupted.
func TestRunIsCutOff(t *testing.T) {
	t.Parallel()
	r := builds(t, "")
	waits := func() {
		testkit.Eventually(t, "dev waits for its build", func() bool {
			data, _ := os.ReadFile(r.Place().Journal())
			return strings.Contains(string(data), "it waits for command bash_1")
		})
	}
	if r.RunAndKill(3, waits) {
		t.Fatal("the team has ended")
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	told := 0
	for _, started := range teamtest.Of[events.TurnStarted](r, "turn_started") {
		told += strings.Count(started.Prompt, "Command bash_1, which ran in the background for you, was interrupted")
	}
	if told != 1 {
		t.Errorf("it was told %d times:\n%s", told, teamtest.Show(r.Lines.All()))
	}
}

// TestServerIsNotAwaited: a command that listens on a port ends with the team, which names it.
func TestServerIsNotAwaited(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says who listens on a port")
	}
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}}
lead: {model: lead, permission_mode: bypassPermissions}
`,
		"lead.yaml": `steps:
  - call: [{tool: Bash, input: {command: "` + listenVariable + `=1 exec ` + testkit.Binary(t) + `", run_in_background: true}}]
  - {say: It serves., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	var warnings []string
	for _, w := range teamtest.Of[events.Warning](r, "warning") {
		warnings = append(warnings, w.Text)
	}
	if got := strings.Join(warnings, "\n"); !strings.Contains(got, "was ended with the session of lead: it listens on port ") {
		t.Errorf("the server is not named: %s\n%s", got, teamtest.Show(r.Lines.All()))
	}
}
