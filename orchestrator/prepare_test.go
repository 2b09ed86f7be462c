package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// goalsIn lists what the lead was given as goals in the last run.
func goalsIn(r *teamtest.Rig) []string {
	var all []string
	for _, m := range teamtest.Of[mail.Message](r, "message") {
		if m.Kind == mail.Goal {
			all = append(all, m.Text)
		}
	}
	return all
}

func TestGoalsOverSeveralRuns(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": `steps: [{say: Yes., times: -1}]`})
	want := func(opts orchestrator.Options, already bool, goals ...string) {
		t.Helper()
		e := r.Run(opts)
		if e.AlreadyDone != already || !slices.Equal(goalsIn(r), goals) {
			t.Errorf("already done %v, goals %q; want %v, %q", e.AlreadyDone, goalsIn(r), already, goals)
		}
	}
	want(orchestrator.Options{}, false, "Ship it.")
	want(orchestrator.Options{}, true)
	want(orchestrator.Options{Goal: "Paint it."}, false, "Paint it.")
	want(orchestrator.Options{}, true)
	want(orchestrator.Options{Goal: "Paint it."}, true) // it is the goal already
	r.Rewrite("team.yaml", "goal: Ship it.", "goal: Sail it.")
	want(orchestrator.Options{}, false, "Sail it.")
	want(orchestrator.Options{Goal: "Paint it."}, false, "Paint it.") // again after another: it is new
	want(orchestrator.Options{Goal: "Sail it."}, false, "Sail it.")
	want(orchestrator.Options{Goal: "Paint it."}, false, "Paint it.")
	want(orchestrator.Options{Fresh: true}, false, "Sail it.")
}

func TestChangedSpec(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks:\n  - {id: a, subject: One, owner: dev}\n",
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
		"dev.yaml": `steps:
  - {when: '#1: One', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: '#2: Two', call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {when: '#3: Three', call: [{tool: TaskUpdate, input: {taskId: "3", status: completed}}]}
  - {say: Yes., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	// A change of a task that is loaded already changes nothing; what is new comes in.
	r.Rewrite("team.yaml", "subject: One, owner: dev}", `subject: Uno, owner: dev}
  - {id: c, subject: Two, blocked_by: [a]}
  - {id: b, subject: Three, blocked_by: [a, c]}`)
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work is done")
	if e.AlreadyDone || !e.Resumed {
		t.Errorf("the run with new tasks: %+v", e)
	}
	all := r.List()
	if len(all) != 3 || all[0].Subject != "One" || !slices.Equal(all[1].BlockedBy, []string{"1"}) ||
		!slices.Equal(all[2].BlockedBy, []string{"1", "2"}) {
		t.Errorf("tasks: %+v", all)
	}
	// A new member is news too, though it has nothing to do.
	r.Rewrite("team.yaml", "teammates:\n", "teammates:\n  ops: {model: dev}\n")
	e = r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work is done")
	if e.AlreadyDone || len(e.Members) != 3 {
		t.Errorf("the run with a new member: %+v", e)
	}
	if again := r.Run(orchestrator.Options{}); !again.AlreadyDone {
		t.Errorf("and once more: %+v", again)
	}
}

// TestDeletedTaskOfTheSpecStaysDeleted: the spec's tasks are loaded once.
func TestDeletedTaskOfTheSpecStaysDeleted(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: One, owner: dev}]\n",
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
		"dev.yaml": `steps:
  - {when: '#1: One', call: [{tool: TaskUpdate, input: {taskId: "1", status: deleted}}]}
  - {say: Yes., times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if e := r.Run(orchestrator.Options{}); !e.AlreadyDone || len(r.List()) != 0 {
		t.Errorf("%+v with tasks %+v", e, r.List())
	}
	r.Rewrite("team.yaml", "owner: dev}]", "owner: dev}, {id: b, subject: Two, blocked_by: [a]}]")
	r.Rewrite("dev.yaml", "'#1: One'", "'#2: Two'")
	r.Rewrite("dev.yaml", `taskId: "1", status: deleted}}]`, `taskId: "2", status: completed}}], times: 9`)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done") // what it waited for is gone
}

func TestFreshForgets(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: One, owner: dev}]\n",
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
		"dev.yaml": `steps:
  - {when: '#1: One', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: Yes., times: -1}
`,
	})
	first := r.Run(orchestrator.Options{})
	r.Want(first, orchestrator.CodeDone, "all work is done")
	second := r.Run(orchestrator.Options{Fresh: true})
	r.Want(second, orchestrator.CodeDone, "all work is done")
	if second.Resumed || second.Members[1].Turns != first.Members[1].Turns || r.Lines.All()[0].Seq != 1 {
		t.Errorf("afresh: %+v, from line %d", second, r.Lines.All()[0].Seq)
	}
	place := r.Place()
	if files := teamtest.GlobAll(t, place.Transcripts()); len(files) != 2 {
		t.Errorf("transcripts: %v", files)
	}
}

func TestKeepStaysUntilToldToStop(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec + "keep: true\n", "lead.yaml": `steps:
  - {when: Ship it, say: Shipped.}
  - {when: more, say: More.}
`})
	o := r.Orchestrator(orchestrator.Options{})
	done := make(chan orchestrator.Ending, 1)
	go func() {
		e, err := o.Run(context.Background())
		if err != nil {
			t.Error(err)
		}
		done <- e
	}()
	r.Lines.Wait(t, "rest", func(l events.Line) bool { return l.Type == "idle" })
	c, err := api.Dial(t.Context(), o.Place())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send(t.Context(), api.Send{To: "lead", Text: "more"}); err != nil {
		t.Fatal(err)
	}
	r.Lines.Wait(t, "the next turn to end", func(l events.Line) bool { return l.Type == "idle" && l.Turn == 2 })
	if _, err := c.Down(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-done:
		r.Want(e, orchestrator.CodeUnfinished, "told to stop")
		if e.Answer != "More." || e.Members[0].Turns != 2 || e.Members[0].Passes != 2 ||
			e.Members[0].State != api.Resting {
			t.Errorf("ending: %+v", e)
		}
	case <-time.After(testkit.Patience):
		t.Fatal("the team goes on")
	}
}

// TestEndingSumsUp looks at all that an ending tells.
func TestEndingSumsUp(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: dev}]\n" +
			"gates: {task: [\"test -f ok || { touch ok; echo not yet; exit 1; }\"]}\n" +
			"hooks: {Stop: [{hooks: [{type: command, command: /none/such/program}]}]}\n",
		"lead.yaml": "steps: [{say: Yes., times: -1}]\nusage: {input_tokens: 10, output_tokens: 1}\n",
		"dev.yaml": `steps:
  - {call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}, {tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {say: Yes., times: -1}
usage: {input_tokens: 100, output_tokens: 7}
`,
	})
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work is done")
	dev := e.Members[1]
	if dev.Name != "dev" || dev.Agent != "builtin/script" || dev.State != api.Resting ||
		!slices.Equal(dev.Completed, []string{"1", "2"}) ||
		dev.Turns != 1 || dev.Passes != 3 || dev.Tokens != 321 {
		t.Errorf("dev: %+v", dev)
	}
	if e.Tasks[tasks.Completed] != 2 || e.FailedOpen == 0 || len(e.Problems) != 0 || e.Elapsed <= 0 {
		t.Errorf("ending: %+v", e)
	}
	last := r.Lines.All()[len(r.Lines.All())-1]
	var ended events.TeamEnded
	if err := json.Unmarshal(last.Data, &ended); err != nil || last.Type != "team_ended" || ended.ExitCode != 0 ||
		ended.Tasks["completed"] != 2 {
		t.Errorf("the last line is %s %s, %v", last.Type, last.Data, err)
	}
}

// TestMailInTheMiddleOfATurn is shown between two passes, and once.
func TestMailInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "dev: {model: dev}\n",
			"dev: {model: dev, permission_mode: bypassPermissions}\n", 2),
		"lead.yaml": `steps:
  - {when: Ship it, call: [{tool: SendMessage, input: {to: dev, message: begin}}]}
  - {when: waiting, call: [{tool: SendMessage, input: {to: dev, message: the word}}, {tool: SendMessage, input: {to: dev, message: and another}}]}
  - {say: Yes., times: -1}
`,
		"dev.yaml": `steps:
  - {when: begin, call: [{tool: SendMessage, input: {to: lead, message: waiting}}]}
  - {when: and another, say: Heard both.}
  - {call: [{tool: Bash, input: {command: "sleep 0.02"}}], times: -1}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	begun := 0
	for _, l := range r.Lines.All() {
		if l.Member == "dev" && l.Type == "turn_started" {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("dev took %d turns; the mail came in the middle of its first:\n%s", begun, teamtest.Show(r.Lines.All()))
	}
	place := r.Place()
	shown := map[string]int{}
	for _, path := range teamtest.GlobAll(t, place.Transcripts()) {
		r.CheckTranscript(path, shown)
	}
	for _, text := range []string{"begin", "waiting", "the word", "and another"} {
		if n := shown[text+"</teammate-message>"]; n != 1 {
			t.Errorf("%q was shown %d times", text, n)
		}
	}
}

// TestTwoTeamsInOneProcess share nothing.
func TestTwoTeamsInOneProcess(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: One, owner: dev}]\n",
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
		"dev.yaml": `steps:
  - {when: '#1: One', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: Yes., times: -1}
`,
	}
	one, two := teamtest.NewRig(t, files), teamtest.NewRig(t, files)
	two.Home = one.Home
	a, b := one.Orchestrator(orchestrator.Options{}), two.Orchestrator(orchestrator.Options{})
	ended := make(chan orchestrator.Ending, 1)
	go func() {
		e, err := b.Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		ended <- e
	}()
	e, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one.Want(e, orchestrator.CodeDone, "all work is done")
	two.Want(<-ended, orchestrator.CodeDone, "all work is done")
	for _, r := range []*teamtest.Rig{one, two} {
		if all := r.List(); len(all) != 1 || all[0].Status != tasks.Completed {
			t.Errorf("tasks: %+v", all)
		}
		if n := len(teamtest.Of[events.MemberStarted](r, "member_started")); n != 2 {
			t.Errorf("%d members started", n)
		}
	}
	if a.Place().Dir == b.Place().Dir || filepath.Dir(a.Place().Dir) != filepath.Dir(b.Place().Dir) {
		t.Errorf("the teams' places are %s and %s", a.Place().Dir, b.Place().Dir)
	}
}

// TestNewRefusesSpecsThatCannotRun before anything is written.
func TestNewRefusesSpecsThatCannotRun(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": "steps: [{say: Yes.}]"})
	team, err := configs.Load(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "lead.yaml"), []byte("steps: [{sya: Yes.}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := orchestrator.New(team, orchestrator.Options{StateHome: r.Home}); err == nil || !strings.Contains(err.Error(), "lead.yaml") {
		t.Errorf("a script that cannot be read: %v", err)
	}
	if entries, err := os.ReadDir(r.Home); err != nil || len(entries) > 0 {
		t.Errorf("New has written %v, %v", entries, err)
	}
}

// TestGoalsAndListsOfAnySize: neither a long goal of many lines nor hundreds of
// tasks may keep a team from starting, resting or ending.
func TestGoalsAndListsOfAnySize(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	list.WriteString("tasks:\n")
	for i := range 300 {
		fmt.Fprintf(&list, "  - {id: a-rather-long-name-%d, subject: Do it}\n", i)
	}
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec + list.String(),
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
	})
	goal := strings.Repeat("Ship it, all of it.\n", 100)
	r.Want(r.Run(orchestrator.Options{Goal: goal}), orchestrator.CodeUnfinished, "nobody can go on")
	if got := goalsIn(r); len(got) != 1 || got[0] != goal {
		t.Errorf("the lead got %d goals", len(got))
	}
	if n := len(r.List()); n != 300 {
		t.Errorf("%d tasks", n)
	}
}

// TestTasksThatTheSpecCallsByNumbers: what a spec calls 1 and what the store
// calls 1 are two things.
func TestTasksThatTheSpecCallsByNumbers(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec + "tasks:\n  - {id: \"2\", subject: stored as 1}\n",
		"lead.yaml": `steps: [{say: Yes., times: -1}]`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "nobody can go on")
	r.Rewrite("team.yaml", "subject: stored as 1}", `subject: stored as 1}
  - {id: "1", subject: stored as 2}
  - {id: "3", subject: stored as 3, blocked_by: ["2"]}`)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "nobody can go on")
	all := r.List()
	if len(all) != 3 || all[2].Subject != "stored as 3" || !slices.Equal(all[2].BlockedBy, []string{"1"}) {
		t.Errorf("tasks: %+v", all)
	}
}
