package orchestrator_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestLeftoversOfAKilledRun kills covey while a member's Bash has a process in
// the background that left its session. The next run ends it before it begins.
func TestLeftoversOfAKilledRun(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.SoloSpec, "lead: {model: lead}", "lead: {model: lead, permission_mode: bypassPermissions}", 1),
		"lead.yaml": `steps:
  - call: [{tool: Bash, input: {command: "setsid sh -c 'echo $$ > ` + pidFile + `; exec sleep 300' & while ! test -s ` + pidFile + `; do sleep 0.01; done"}}]
  - call: [{tool: Bash, input: {command: "sleep 0.1"}}]
    times: 3
  - say: Done.
`,
	})
	r.RunAndKill(10) // the first Bash has come back
	pid := testkit.WaitForPID(t, pidFile)
	if unix.Kill(pid, 0) != nil {
		t.Fatal("the process that the tool left is gone before the second run begins")
	}
	if code := r.Run(orchestrator.Options{}).Code; code != orchestrator.CodeDone {
		t.Errorf("the second run ended with %d", code)
	}
	if p, err := process.Read(pid); err == nil && !p.Zombie {
		t.Errorf("process %d still runs", pid)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	told := false
	for _, l := range r.Lines.All() {
		told = told || l.Type == "warning" && strings.Contains(string(l.Data), strconv.Itoa(pid))
	}
	if !told {
		t.Errorf("nobody was told of process %d:\n%s", pid, teamtest.Show(r.Lines.All()))
	}
}
