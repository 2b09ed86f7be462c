package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/view"
)

// facts folds what the last run wrote to the journal.
func (r *rig) facts() *view.State {
	state := &view.State{}
	for _, l := range r.lines.All() {
		state.Apply(l.Event())
	}
	return state
}

// wantGates fails the test unless the journal has these gates of a member's work: event, moment,
// task and verdict.
func (r *rig) wantGates(member string, want ...string) {
	r.t.Helper()
	var got []string
	for _, g := range r.facts().GatesOf(func(g *view.Gate) bool { return g.Member == member }) {
		got = append(got, fmt.Sprintf("%s %s %s %s", g.Event, g.At, g.Task, g.Verdict))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("the gates of %s are\n%s\nwant\n%s", member, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFactsOfARefusedTask: a fold of the journal knows who refused a task, in which turn, and what
// came of it; and what was said in each turn of the work.
func TestFactsOfARefusedTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"team.yaml": strings.ReplaceAll(testkit.PairSpec, "dev: {model: dev}\n", "dev: {model: dev, permission_mode: bypassPermissions}\n") + `
tasks: [{id: a, subject: One, owner: dev}]
gates:
  task: ["test -f proof || { echo no proof yet; exit 1; }"]
`,
		"lead.yaml": `steps: [{say: Go.}, {say: All done.}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: It is done.
  - call: [{tool: Bash, input: {command: touch proof}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: Now it is.
`,
	})
	r.want(r.run(Options{}), CodeDone, "all work is done")
	r.wantGates("dev", "TaskCompleted tool 1 refused", "TaskCompleted turn_end 1 refused", "TaskCompleted tool 1 agreed")
	state := r.facts()
	task, dev := state.Task("1"), state.Member("dev")
	if task.Refusals != 2 || len(task.Returns) != 2 || task.Returns[0].Reason != "no proof yet" ||
		task.Returns[0].Turn != 1 || !strings.HasPrefix(task.Returns[1].By, "test -f proof") {
		t.Errorf("task 1 was sent back as %+v", task.Returns)
	}
	if len(task.Owners) != 1 || task.Owners[0].Owner != "dev" || task.Owners[0].End != "completed" || task.Completed.IsZero() {
		t.Errorf("task 1 belonged to %+v", task.Owners)
	}
	if len(task.Spans) != 1 || task.Spans[0].Member != "dev" || task.Spans[0].Turn != 1 {
		t.Errorf("task 1 was worked on in %+v", task.Spans)
	}
	if dev.State != api.Ended || !slices.Equal(dev.Done.Completed, []string{"1"}) || dev.Unread != 0 {
		t.Errorf("dev %+v", dev)
	}
	if run := state.Run(); run.Workspace == "" || !strings.HasSuffix(run.Spec, "team.yaml") || run.Turns.Completed != 1 {
		t.Errorf("the run %+v", run)
	}
	if needs := state.Needs(); len(needs) > 0 {
		t.Errorf("needs %+v", needs)
	}
}
