//go:build unix

package crew_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestSendNow: a text that is sent now cuts the running tool and the calls after it short, and is what
// the member reads next, in the same turn and without the words of an interruption.
func TestSendNow(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "lead: {model: lead}", "lead: {model: lead, permission_mode: bypassPermissions}", 1),
		"dev.yaml":  `steps: [{say: Fine., times: -1}]`,
		"lead.yaml": `steps:
  - call: [{tool: Bash, input: {command: "echo begun >started; read x <gate"}}, {tool: Bash, input: {command: "touch second"}}]
  - {when: "use port 8081", call: [{tool: Bash, input: {command: "echo went on"}}]}
  - {say: Done., times: -1}
`,
	})
	if err := syscall.Mkfifo(filepath.Join(r.Dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := teamtest.Start(r, &teamtest.HandClock{})
	testkit.Eventually(t, "the command runs", func() bool {
		_, err := os.Stat(filepath.Join(r.Dir, "started"))
		return err == nil
	})
	c := u.Client()
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "x", Now: true, WaitFor: []string{"1"}}); !errors.Is(err, tasks.ErrInvalid) {
		t.Errorf("a text that waits cuts a tool short: %v", err)
	}
	reply, err := c.Send(t.Context(), api.Send{To: "lead", Text: "use port 8081", Now: true})
	if err != nil || reply.Delivery != api.Delivered {
		t.Fatalf("%+v, %v", reply, err)
	}
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	results := teamtest.Of[events.ToolReturned](r, "tool_result")
	if len(results) != 3 || !strings.HasPrefix(results[0].Content, agent.CutShort+" The command was killed") ||
		results[1].Content != agent.CutShort+" The call was not made." || results[2].Content != "went on" {
		t.Errorf("results: %+v", results)
	}
	if turns := teamtest.Of[events.TurnEnded](r, "turn_ended"); len(turns) != 1 || turns[0].Reason != events.EndCompleted {
		t.Errorf("turns: %+v", turns)
	}
	if text := r.TranscriptOf("lead"); strings.Contains(strings.ToLower(text), "interrupt") {
		t.Errorf("the transcript speaks of an interruption: %s", text)
	}
}
