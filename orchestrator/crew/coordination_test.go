package crew_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// crowd is a team of eight and their lead, and how it works: the lead makes the
// tasks, answers a question of each member, looks at what was done, and
// reports. Its requests grow as those of a real conversation do: 15,000 tokens
// of instructions and tools, and 600 more with each request.
type crowd struct{ members, tasks, looks int }

// passes are how many requests the lead makes of its own accord.
func (w crowd) files() map[string]string {
	var spec, lead strings.Builder
	spec.WriteString("covey: 1\nname: crew\ngoal: Ship it.\nmodels:\n  lead: {provider: script, script: lead.yaml}\n")
	for m := range w.members {
		fmt.Fprintf(&spec, "  m%d: {provider: script, script: m%d.yaml}\n", m, m)
	}
	spec.WriteString("lead: {model: lead}\nteammates:\n")
	lead.WriteString("steps:\n")
	tokens := 15_000
	usage := func() string {
		tokens += 600
		return fmt.Sprintf("usage: {input_tokens: %d, output_tokens: 300}", tokens)
	}
	for n := 0; n < w.tasks; n += 4 { // four calls a request
		lead.WriteString("  - {call: [")
		for k := n; k < min(n+4, w.tasks); k++ {
			fmt.Fprintf(&lead, "{tool: TaskCreate, input: {subject: Task number %d of the change, description: d}},", k+1)
		}
		fmt.Fprintf(&lead, "], %s}\n", usage())
	}
	fmt.Fprintf(&lead, "  - {say: The tasks are there., %s}\n", usage())
	for range w.members { // questions come in bundles, so not all of these may be needed
		fmt.Fprintf(&lead, "  - {when: A question of mine, call: [{tool: SendMessage, input: {to: '*', message: Both.}}], %s}\n", usage())
		fmt.Fprintf(&lead, "  - {when: inbox, say: Answered., %s}\n", usage())
	}
	for n := range w.looks {
		when := "when: '#'"
		if n == 0 {
			when = "when: This is your last turn"
		}
		fmt.Fprintf(&lead, "  - {%s, call: [{tool: TaskGet, input: {taskId: \"%d\"}}], %s}\n", when, n+1, usage())
	}
	fmt.Fprintf(&lead, "  - {when: '#', say: All is done., %s}\n", usage())
	files := map[string]string{"lead.yaml": lead.String()}
	for m := range w.members {
		fmt.Fprintf(&spec, "  m%d: {model: m%d}\n", m, m)
		files[fmt.Sprintf("m%d.yaml", m)] = w.member()
	}
	files["team.yaml"] = spec.String()
	return files
}

// member is the script of one of the eight: it asks once, and completes
// whatever it has claimed. The ids are in what it is told.
func (w crowd) member() string {
	var b strings.Builder
	b.WriteString("usage: {input_tokens: 8000, output_tokens: 200}\ndelay: 15ms\nsteps:\n")
	b.WriteString("  - {when: 'Updated task', call: [{tool: SendMessage, input: {to: lead, message: 'A question of mine: this or that?'}}]}\n")
	for id := range w.tasks {
		fmt.Fprintf(&b, "  - {when: 'claimed task #%d:', call: [{tool: TaskUpdate, input: {taskId: \"%d\", status: completed}}]}\n", id+1, id+1)
		fmt.Fprintf(&b, "  - {when: 'Updated task #%d ', say: That is done and the tests pass., times: -1}\n", id+1)
	}
	b.WriteString("  - {say: I go on., times: -1}\n")
	return b.String()
}

// run runs the crowd and gives what the lead has spent.
func (w crowd) run(t testing.TB, r *teamtest.Rig) events.Coordination {
	t.Helper()
	ending := r.Run(orchestrator.Options{})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if n := ending.Tasks[tasks.Completed]; n != w.tasks {
		t.Fatalf("%d tasks are completed:\n%s", n, teamtest.Show(r.Lines.All()))
	}
	return ending.Coordination
}

// TestCoordinationCostsLittle: of a lead of eight at most one token in a hundred
// goes into being told of the others (others report 13 to 22). Every request
// counts that a notice is part of.
func TestCoordinationCostsLittle(t *testing.T) {
	w := crowd{members: 8, tasks: 40, looks: 10}
	r := teamtest.NewRig(t, w.files())
	c := w.run(t, r)
	t.Logf("%+v: %.2f %%, %d tokens a task", c, 100*c.Share(), c.Tokens/int64(c.Finished))
	if c.Of < 300_000 || c.Notices == 0 || c.Finished != w.tasks || !c.Estimated {
		t.Errorf("that is no measurement: %+v", c)
	}
	if c.Share() > 0.01 {
		t.Errorf("coordination takes %.2f %% of the lead's tokens:\n%s", 100*c.Share(), teamtest.Show(r.Lines.All()))
	}
	var sum events.Coordination
	for _, turn := range teamtest.Of[events.Coordination](r, "coordination") {
		sum = sum.Plus(turn)
	}
	if sum.Tokens != c.Tokens || sum.Notices != c.Notices {
		t.Errorf("the journal tells of %+v", sum)
	}
}
