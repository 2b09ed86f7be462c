package orchestrator_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

const runSpec = `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}, dev: {provider: script, script: dev.yaml}}
defaults: {permission_mode: bypassPermissions}
lead: {model: lead}
teammates: {dev: {model: dev}}
`

// A team of covey run is done only with something to show: a file, a task, or the lead's
// word that the goal was a question.
func TestRunMustShowSomething(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lead, dev string
		git       bool
		code      int
		reason    string
		answer    string
	}{
		"words":           {lead: "{say: Done.}", code: orchestrator.CodeUnfinished, reason: teamtest.NothingToShow, answer: "Done."},
		"words with git":  {lead: "{say: Done.}", git: true, code: orchestrator.CodeUnfinished, reason: teamtest.NothingToShow, answer: "Done."},
		"a look":          {lead: `{call: [{tool: Bash, input: {command: "cat notes"}}]}, {say: Seen.}`, code: orchestrator.CodeUnfinished, reason: teamtest.NothingToShow, answer: "Seen."},
		"the same anew":   {lead: `{call: [{tool: Bash, input: {command: "cp notes n; mv n notes"}}]}, {say: Same.}`, code: orchestrator.CodeUnfinished, reason: teamtest.NothingToShow, answer: "Same."},
		"a file":          {lead: `{call: [{tool: Bash, input: {command: "echo x > new"}}]}, {say: Done.}`, reason: "all work is done", answer: "Done."},
		"a removed file":  {lead: `{call: [{tool: Bash, input: {command: "rm notes"}}]}, {say: Done.}`, reason: "all work is done", answer: "Done."},
		"a file with git": {lead: `{call: [{tool: Bash, input: {command: "echo x > new"}}]}, {say: Done.}`, git: true, reason: "all work is done", answer: "Done."},
		"a commit": {
			lead: `{call: [{tool: Bash, input: {command: "echo x > new; git add -A; git commit -qm x"}}]}, {say: Done.}`,
			git:  true, reason: "all work is done", answer: "Done.",
		},
		"a mate's file": {
			lead: `{call: [{tool: SendMessage, input: {to: dev, message: go}}]}, {say: Asked., times: -1}`,
			dev:  `{when: go, call: [{tool: Bash, input: {command: "echo x > new"}}]}, {say: Did., times: -1}`,
			git:  true, reason: "all work is done", answer: "Asked.",
		},
		"a task": {
			lead: `{call: [{tool: TaskCreate, input: {subject: Look, description: look}}]},` +
				`{call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}, {say: Looked., times: -1}`,
			// It may be faster to take the task, and then it alone completes it.
			dev:    `{when: claimed, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}, {say: fine, times: -1}`,
			reason: "all work is done", answer: "Looked.",
		},
		"an answer": {
			lead:   `{call: [{tool: team_report, input: {answered: true, report: It is 42.}}]}, {say: ""}`,
			reason: "all work is done", answer: "It is 42.",
		},
		"an answer and last words": {
			lead:   `{call: [{tool: team_report, input: {answered: true, report: It is 42.}}]}, {say: "I have answered."}`,
			reason: "all work is done", answer: "It is 42.",
		},
		"an empty answer": {
			lead: `{call: [{tool: team_report, input: {answered: true, report: " "}}]}, {say: "Hm."}`,
			code: orchestrator.CodeUnfinished, reason: teamtest.NothingToShow, answer: "Hm.",
		},
		"a report of the lead": {
			lead: `{call: [{tool: team_report, input: {report: All done.}}]}, {say: "Hm."}`,
			code: orchestrator.CodeUnfinished, reason: teamtest.NothingToShow, answer: "Hm.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dev := test.dev
			if dev == "" {
				dev = "{say: fine, times: -1}"
			}
			g := teamtest.Grove{Rig: teamtest.NewRig(t, map[string]string{
				"team.yaml": runSpec, "lead.yaml": "steps: [" + test.lead + "]\n", "dev.yaml": "steps: [" + dev + "]\n", "notes": "a\n",
			})}
			if test.git {
				testkit.Commit(t, g.Dir)
			}
			ending := g.RunAsRun(orchestrator.Options{})
			g.Want(ending, test.code, test.reason)
			if ending.Answer != test.answer {
				t.Errorf("the answer is %q, want %q", ending.Answer, test.answer)
			}
		})
	}
}

// Where tasks have gates, changes without a task are judged, too: covey makes a task of them,
// and if the gates refuse, the lead has to do it.
func TestRunMustBeJudged(t *testing.T) {
	t.Parallel()
	const writes = `{call: [{tool: Bash, input: {command: "echo x >> new"}}]}, {say: Done.}, `
	const mends = `{when: refused, call: [{tool: Bash, input: {command: "echo y >> new"}}]},` +
		`{call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}, `
	const sends = `{call: [{tool: SendMessage, input: {to: dev, message: go}}]}, {say: Done.}, `
	for name, test := range map[string]struct {
		lead, dev, gate      string
		reason, owners       string // of the tasks; empty: lead
		git                  bool
		code, refused, turns int // turns: 0, where mail may come together, is not looked at
	}{
		"good":            {lead: writes, gate: "test -e new", reason: "all work is done", turns: 1},
		"good with git":   {lead: writes, gate: "test -e new", git: true, reason: "all work is done", turns: 1},
		"bad":             {lead: writes, gate: "false", reason: "task 1", code: orchestrator.CodeUnfinished, refused: 1, turns: 5},
		"mended":          {lead: writes + mends, gate: "grep y new || { echo refused; exit 1; }", reason: "all work is done", refused: 1, turns: 3},
		"mended in git":   {lead: writes + mends, gate: "grep y new || { echo refused; exit 1; }", git: true, reason: "all work is done", refused: 1, turns: 3},
		"nothing at all":  {lead: "{say: Done.}, ", gate: "false", reason: teamtest.NothingToShow, code: orchestrator.CodeUnfinished, turns: 1},
		"a mate's":        {lead: sends, dev: writes, gate: "test -e new", reason: "all work is done"},
		"a mate's in git": {lead: sends, dev: writes, gate: "test -e new", git: true, reason: "all work is done", owners: "dev"},
		"bad of a mate in git": {
			lead: sends, dev: writes, gate: "test ! -e new", git: true, reason: "task 1", owners: "dev", code: orchestrator.CodeUnfinished, refused: 1,
		},
		"mended by a mate in git": {
			lead: sends, dev: writes + mends, gate: "grep y new || { echo refused; exit 1; }", git: true, reason: "all work is done",
			owners: "dev", refused: 1,
		},
		"of both in git": {
			lead: `{call: [{tool: Bash, input: {command: "echo x >> new"}}]}, ` + sends, dev: writes, gate: "test -e new", git: true,
			reason: "all work is done", owners: "lead dev",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := teamtest.Grove{Rig: teamtest.NewRig(t, map[string]string{
				"team.yaml": runSpec + "gates: {task: ['" + test.gate + "']}\n", "notes": "a\n",
				"lead.yaml": "steps: [" + test.lead + "{say: So be it., times: -1}]\n", "dev.yaml": "steps: [" + test.dev + "{say: fine, times: -1}]\n",
			})}
			if test.git {
				testkit.Commit(t, g.Dir)
			}
			g.Want(g.RunAsRun(orchestrator.Options{}), test.code, test.reason)
			var owners []string
			for _, task := range g.List() {
				if owners = append(owners, task.Owner); task.Subject != "Ship it." {
					t.Errorf("task %+v", task)
				}
			}
			if want := cmp.Or(test.owners, "lead"); test.reason != teamtest.NothingToShow && strings.Join(owners, " ") != want {
				t.Errorf("tasks of %q, want %q", owners, want)
			}
			refused, turns := 0, len(teamtest.Of[events.TurnStarted](g.Rig, "turn_started"))
			for _, f := range teamtest.Of[events.HookFinished](g.Rig, "hook_finished") {
				if f.Event == string(hooks.TaskCompleted) && f.ExitCode != 0 {
					refused++
				}
			}
			if refused != test.refused || test.turns > 0 && turns != test.turns {
				t.Errorf("refused %d times in %d turns\n%s", refused, turns, teamtest.Show(g.Lines.All()))
			}
		})
	}
}

// What came to nothing is begun anew by the next run; what an earlier goal has changed
// does not count for a later one.
func TestRunComesToNothingAgain(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": runSpec, "dev.yaml": "steps: []\n",
		"lead.yaml": `steps:
  - {when: Ship it, say: No., times: 1}
  - {when: Ship it, call: [{tool: Bash, input: {command: "echo x > new"}}]}
  - {say: Done., times: -1}
`,
	})
	r.Want(r.RunAsRun(orchestrator.Options{}), orchestrator.CodeUnfinished, teamtest.NothingToShow)
	r.Want(r.RunAsRun(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	r.Want(r.RunAsRun(orchestrator.Options{}), orchestrator.CodeDone, "nothing is new")
	r.Want(r.RunAsRun(orchestrator.Options{Goal: "Say it."}), orchestrator.CodeUnfinished, teamtest.NothingToShow)
}

// A team whose spec somebody has written ends as its tasks say.
func TestSpecNeedNotShowAnything(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": runSpec, "lead.yaml": "steps: [{say: Done.}]\n", "dev.yaml": "steps: []\n"})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
}
