package teamhooks_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// A hook that refuses the goal or stops the lead is why the team ends, and the next run gives the
// lead its goal again.
func TestHookStopsTheLead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ hooks, want string }{
		"the goal is refused": {`{UserPromptSubmit: [{hooks: [{type: command, command: "echo not on Fridays >&2; exit 2"}]}]}`,
			"lead: the UserPromptSubmit hook echo not on Fridays >&2; exit 2 refused the prompt: "},
		"the goal is halted": {`{UserPromptSubmit: [{hooks: [{type: command, command: ./halt.sh}]}]}`,
			"lead: the UserPromptSubmit hook ./halt.sh stopped the turn: enough"},
		"stop": {`{Stop: [{hooks: [{type: command, command: ./halt.sh}]}]}`, "lead: the Stop hook ./halt.sh stopped the turn: enough"},
		"a tool": {`{PostToolUse: [{hooks: [{type: command, command: ./halt.sh}]}]}`,
			"lead: the PostToolUse hook ./halt.sh stopped the turn: enough"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml": testkit.SoloSpec + "hooks: " + test.hooks + "\n",
				"halt.sh":   "#!/bin/sh\necho '{\"continue\": false, \"stopReason\": \"enough\"}'\n",
				"lead.yaml": `{exhausted: stop, steps: [{say: I look., times: 2, call: [{tool: TaskList, input: {}}]}, {say: Done., times: -1}]}`,
			})
			for range 2 {
				r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, test.want)
			}
		})
	}
}

// A teammate whose turn a hook has stopped rests with its task open, and is not reminded of it.
func TestHookStopsATeammate(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"Stop", "PostToolUse"} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: Build it, owner: dev}]\nhooks: {" + event +
					": [{hooks: [{type: command, command: ./halt.sh}]}]}\n",
				"halt.sh": "#!/bin/sh\ngrep -q '\"agent_type\":\"dev\"' || exit 0\n" +
					"echo '{\"continue\": false, \"stopReason\": \"out of money\"}'\n",
				"lead.yaml": `{exhausted: stop, steps: [{say: Go., times: -1}]}`,
				"dev.yaml":  `{exhausted: stop, steps: [{say: I look., call: [{tool: TaskList, input: {}}]}, {say: Done., times: -1}]}`,
			})
			end := r.Run(orchestrator.Options{})
			want := "the " + event + " hook ./halt.sh stopped the turn: out of money"
			if end.Code != orchestrator.CodeUnfinished || !strings.Contains(strings.Join(end.Problems, "|"), "dev: "+want) {
				t.Errorf("code %d, problems %q", end.Code, end.Problems)
			}
			if turns := r.TurnsOf("dev"); turns != 1 {
				t.Errorf("%d turns: it was reminded", turns)
			}
		})
	}
}
