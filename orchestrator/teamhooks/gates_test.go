package teamhooks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// fired lists the hook runs of a member in order: event and tool-use id.
func fired(r *teamtest.Rig, member string) (kinds, ids []string) {
	for _, l := range r.Lines.All() {
		if l.Type != "hook_started" || l.Member != member {
			continue
		}
		var h events.HookStarted
		if err := json.Unmarshal(l.Data, &h); err != nil {
			r.T.Fatal(err)
		}
		kinds, ids = append(kinds, h.Event), append(ids, h.ToolUseID)
	}
	return kinds, ids
}

const twoTasks = `
tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: dev}]
`

func TestTurnEndOfATeammate(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + twoTasks + `
defaults: {limits: {max_in_progress: 0}}  # two at once
hooks:
  Stop: [{hooks: [{type: command, command: "true"}]}]
  TaskCompleted: [{hooks: [{type: command, command: "true"}]}]
  TeammateIdle: [{hooks: [{type: command, command: "true"}]}]
`,
		"lead.yaml": `steps: [{say: Go.}, {say: All done.}]`,
		"dev.yaml": `steps:
  - call:
      - {tool: TaskUpdate, input: {taskId: "1", status: in_progress}}
      - {tool: TaskUpdate, input: {taskId: "2", status: in_progress}}
  - say: Both are under way.
  - call:
      - {tool: TaskUpdate, input: {taskId: "1", status: completed}}
      - {tool: TaskUpdate, input: {taskId: "2", status: completed}}
  - say: Both are done.
`,
	})
	r.Rewrite("team.yaml", "dev: {model: dev}", "dev: {model: dev, limits: {max_in_progress: 2}}")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	kinds, ids := fired(r, "dev")
	want := []string{
		"Stop", "TaskCompleted", "TaskCompleted", "TeammateIdle", // the first turn: two tasks in progress
		"TaskCompleted", "TaskCompleted", // by the tool
		"Stop", "TeammateIdle", // the second turn: none in progress
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("dev's hooks ran as %v, want %v", kinds, want)
	}
	r.WantGates("dev",
		"Stop turn_end  agreed", "TaskCompleted turn_end 1 agreed", "TaskCompleted turn_end 2 agreed", "TeammateIdle turn_end  agreed",
		"TaskCompleted tool 1 agreed", "TaskCompleted tool 2 agreed",
		"Stop turn_end  agreed", "TeammateIdle turn_end  agreed")
	unique := slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(unique) != len(ids) {
		t.Errorf("tool-use ids are shared between runs: %v", ids)
	}
	if kinds, _ := fired(r, "lead"); !slices.Equal(kinds, []string{"Stop"}) {
		t.Errorf("the lead's hooks ran as %v; it has Stop alone", kinds)
	}
}

func TestGateRefusesThenAgrees(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + `
tasks: [{id: a, subject: One, owner: dev}]
gates:
  task: ["test -f proof || { echo no proof yet; exit 1; }"]
`,
		"lead.yaml": `steps: [{say: Go.}, {say: All done.}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: no proof yet
    call: [{tool: Bash, input: {command: touch proof}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: Done, with proof.
`,
	})
	e := strings.Replace(testkit.PairSpec, "dev: {model: dev}\n",
		"dev: {model: dev, permission_mode: bypassPermissions}\n", 2)
	r.Rewrite("team.yaml", testkit.PairSpec, e)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	var ops []tasks.Op
	for _, c := range teamtest.Of[tasks.Change](r, "task") {
		ops = append(ops, c.Op)
	}
	if want := []tasks.Op{tasks.Created, tasks.Refused, tasks.TaskCompleted}; !slices.Equal(ops, want) {
		t.Errorf("the task went through %v, want %v", ops, want)
	}
	results := teamtest.Of[events.ToolReturned](r, "tool_result")
	if results[0].IsError || !strings.HasPrefix(results[0].Content, "TaskCompleted hook feedback:\n") {
		t.Errorf("the refusal reads %+v; it is feedback, and no error of the tool", results[0])
	}
}

func TestTaskCreatedHookRefuses(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec + `
hooks:
  TaskCreated: [{hooks: [{type: command, command: "grep -q '\"task_subject\":\"T\"' && { echo too short >&2; exit 2; } || exit 0"}]}]
`,
		"lead.yaml": `steps:
  - call:
      - {tool: TaskCreate, input: {subject: T, description: d}}
      - {tool: TaskList, input: {}}
      - {tool: TaskCreate, input: {subject: Long enough, description: d}}
      - {tool: TaskUpdate, input: {id: "2", status: completed}}
  - say: Tried.
  - say: Reported.
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	results := teamtest.Of[events.ToolReturned](r, "tool_result")
	if !results[0].IsError || !strings.HasSuffix(results[0].Content, "]: too short") {
		t.Errorf("the refused creation reads %+v", results[0])
	}
	if results[1].Content != "No tasks found" {
		t.Errorf("the refused task is seen: %q", results[1].Content)
	}
	if results[2].Content != "Task #2 created successfully: Long enough" {
		t.Errorf("the second creation reads %q; the first one's id must not be used again", results[2].Content)
	}
}

func TestHaltingHookStopsATeammateForGood(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{"at the turn end": "TeammateIdle", "in a tool": "TaskCompleted"} {
		t.Run(name, func(t *testing.T) {
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml": testkit.PairSpec + `
tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two}]
hooks:
  ` + event + `: [{hooks: [{type: command, command: "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]}]
`,
				"lead.yaml": `steps:
  - {say: Go., when: Ship it}
  - {say: I see., when: "Teammate dev takes no more turns.*enough"}
  - {say: Nobody is left., when: nobody can go on}
`,
				"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: Done.
`,
			})
			e := r.Run(orchestrator.Options{})
			r.Want(e, orchestrator.CodeUnfinished, "nobody can go on")
			if e.Members[1].State != api.Ended || !strings.Contains(e.Members[1].Reason, "enough") {
				t.Errorf("dev is %+v", e.Members[1])
			}
			again := r.Run(orchestrator.Options{})
			r.Want(again, orchestrator.CodeUnfinished, "nobody can go on")
			if again.Members[1].Turns != 0 {
				t.Error("a halted teammate took a turn after a restart")
			}
		})
	}
}

func TestGatesThatNeverAgree(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + `
tasks: [{id: a, subject: One, owner: dev}]
gates: {idle: ["echo never; exit 1"]}
`,
		"lead.yaml": `steps: [{say: Go.}, {say: I see., when: needs attention}, {say: Over., when: nobody can go on}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - {say: Please., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "needs attention")
	idle := 0
	for _, h := range teamtest.Of[events.HookStarted](r, "hook_started") {
		if h.Event == "TeammateIdle" {
			idle++
		}
	}
	if idle != 9 { // eight refusals are followed, the ninth is overridden
		t.Errorf("the idle gate was asked %d times, want 9", idle)
	}
}
