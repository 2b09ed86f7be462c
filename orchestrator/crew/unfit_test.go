package crew_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// TestDamagedTranscript: a damaged line of one member's transcript keeps that member away
// and nobody else, and once it is repaired the member goes on.
func TestDamagedTranscript(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "teammates:\n", "teammates:\n  ops: {model: dev}\n", 1) +
			"tasks: [{id: a, subject: First thing, owner: dev}]\n",
		"lead.yaml": `steps: [{say: Go., times: -1}]`,
		"dev.yaml": `steps:
  - {when: "#1: First", call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: "#2: Second", call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {when: "#3: Third", call: [{tool: TaskUpdate, input: {taskId: "3", status: completed}}]}
  - {say: Done., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	list, err := filepath.Glob(filepath.Join(r.Place().Transcripts(), "dev", "*.jsonl"))
	if err != nil || len(list) != 1 {
		t.Fatalf("transcripts %v, %v", list, err)
	}
	sound, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(sound), "\n")
	lines[1] = "\x00" + lines[1][1:]
	harmed := strings.Join(lines, "")
	if err := os.WriteFile(list[0], []byte(harmed), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Rewrite("team.yaml", "owner: dev}]", "owner: dev}, {id: b, subject: Second thing, owner: ops}, {id: c, subject: Third thing, owner: dev}]")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "task 3 \"Third thing\" belongs to dev, who takes no more turns")
	if got := teamtest.Of[events.NeedsAttention](r, "needs_attention"); len(got) != 1 ||
		!strings.Contains(got[0].Reason, list[0]+": the transcript is damaged: line 2") {
		t.Errorf("attention %+v", got)
	}
	all := r.List()
	if all[1].Status != tasks.Completed || all[2].Status != tasks.Pending || all[2].Owner != "dev" {
		t.Errorf("tasks %+v", all)
	}
	if now, err := os.ReadFile(list[0]); err != nil || string(now) != harmed {
		t.Errorf("the damaged transcript was changed, %v", err)
	}
	if err := os.WriteFile(list[0], sound, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
}
