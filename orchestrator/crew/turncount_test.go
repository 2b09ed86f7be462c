package crew_test

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// A turn is empty that makes no call, says nothing that anybody needs, and changes no task.
func TestEmptyTurns(t *testing.T) {
	t.Parallel()
	const owned = "tasks: [{id: a, subject: A, owner: dev}]\n"
	const both = "tasks: [{id: a, subject: A, owner: dev}, {id: b, subject: B, owner: lead}]\n"
	const later = `, {say: I wait.}, {call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}, {say: Did., times: -1}`
	const does = `{call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}, {say: Did., times: -1}`
	for name, test := range map[string]struct {
		lead, dev, more string
		want            events.TurnCount
	}{
		"an answer": {lead: "{say: It is 42.}", want: events.TurnCount{Turns: 1}},
		"all tasks have owners": {
			lead: "{say: I wait., times: -1}", dev: does, more: owned,
			want: events.TurnCount{Turns: 2, Completed: 1, PerTask: 2},
		},
		"a word before the work": {
			lead: later[2:], dev: does, more: both, want: events.TurnCount{Turns: 4, Empty: 1,
				Completed: 2, PerTask: 2},
		},
		"a look before the work": {
			lead: "{call: [{tool: TaskList, input: {}}]}" + later, dev: does, more: both,
			want: events.TurnCount{Turns: 4, Completed: 2, PerTask: 2},
		},
		"tasks that pass their gates": {
			lead: "{say: I wait., times: -1}", dev: "{say: Did it., times: -1}",
			more: "complete_on_pass: true\ntasks: [{id: a, subject: A}, {id: b, subject: B}, {id: c, subject: C}]\n",
			want: events.TurnCount{Turns: 5, Empty: 1, Completed: 3, PerTask: 5. / 3}, // the lead only waits
		},
		"a colleague who is told": {
			lead: `{call: [{tool: SendMessage, input: {to: dev, message: Mind the gap., summary: gap}}]}, {say: Told., times: -1}`,
			dev:  `{when: Mind, say: Understood.}`,
			want: events.TurnCount{Turns: 3}, // its words go to the lead, who has asked for all it knows
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml": testkit.PairSpec + test.more, "lead.yaml": "steps: [" + test.lead + "]\n", "dev.yaml": "steps: [" + test.dev + "]\n",
			})
			ending := r.Run(orchestrator.Options{})
			if ending.Turns != test.want {
				t.Errorf("%+v, want %+v:\n%s", ending.Turns, test.want, teamtest.Show(r.Lines.All()))
			}
			empty := 0
			for _, e := range teamtest.Of[events.TurnEnded](r, "turn_ended") {
				if e.Empty {
					empty++
				}
			}
			for _, e := range teamtest.Of[events.Idle](r, "idle") {
				if len(e.Background) > 0 {
					t.Errorf("nothing runs in the background, and an idle member names %q", e.Background)
				}
			}
			if ends := teamtest.Of[events.TeamEnded](r, "team_ended"); empty != test.want.Empty || len(ends) != 1 ||
				ends[0].Turns != test.want {
				t.Errorf("the journal has %d empty turns, and at the end %+v", empty, ends)
			}
		})
	}
}
