package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestAnyScriptsComeToAnEnd lets members do what nobody would script: the team
// ends by itself all the same, each message is shown once, and the store is in
// order.
func TestAnyScriptsComeToAnEnd(t *testing.T) {
	t.Parallel()
	seeds := 12
	switch {
	case *teamtest.AllRounds:
		seeds = 50
	case testing.Short():
		seeds = 8
	}
	ends := map[int]int{}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := teamtest.NewRig(t, anyTeam(rand.New(rand.NewPCG(seed, 11))))
			e := r.Run(orchestrator.Options{})
			ends[e.Code]++
			checkAny(r, e)
		})
	}
	t.Logf("the teams ended with these codes, so often: %v", ends)
	if !testing.Short() && (ends[orchestrator.CodeDone] < 2 || ends[orchestrator.CodeUnfinished] < 2) {
		t.Errorf("the scripts are too much alike: codes %v", ends)
	}
}

// anyTeam makes a team of three whose scripts are random.
func anyTeam(random *rand.Rand) map[string]string {
	members := []string{"lead", "dev", "ops"}
	files := map[string]string{}
	var spec strings.Builder
	spec.WriteString("covey: 1\nname: crew\ngoal: Ship it.\nmodels:\n")
	for _, m := range members {
		fmt.Fprintf(&spec, "  %[1]s: {provider: script, script: %[1]s.yaml}\n", m)
		files[m+".yaml"] = anyScript(random, m, members)
	}
	fmt.Fprintf(&spec, "lead: {model: lead}\nteammates:\n  dev: {model: dev}\n  ops: {model: ops, self_claim: %v}\n", random.IntN(2) == 0)
	if random.IntN(3) == 0 {
		spec.WriteString("gates: {idle: [{policy: no-open-tasks}]}\n")
	}
	if n := random.IntN(4); n > 0 {
		spec.WriteString("tasks:\n")
		for i := range n {
			fmt.Fprintf(&spec, "  - {id: t%d, subject: spec task %d", i, i)
			if who := random.IntN(5); who < 3 {
				spec.WriteString(", owner: " + members[who])
			}
			if i > 0 && random.IntN(2) == 0 {
				fmt.Fprintf(&spec, ", blocked_by: [t%d]", random.IntN(i))
			}
			spec.WriteString("}\n")
		}
	}
	files["team.yaml"] = spec.String()
	return files
}

// anyScript is up to a dozen steps, and one that answers for ever. Each text
// that is sent occurs once.
func anyScript(random *rand.Rand, member string, members []string) string {
	var b strings.Builder
	b.WriteString("steps:\n")
	for i := range 2 + random.IntN(11) {
		if random.IntN(25) == 0 {
			b.WriteString("  - {error: {type: overloaded}}\n")
			continue
		}
		if random.IntN(4) == 0 {
			fmt.Fprintf(&b, "  - {say: step %d}\n", i)
			continue
		}
		var calls []string
		for j := range 1 + random.IntN(3) {
			calls = append(calls, anyCall(random, fmt.Sprintf("%s-%d-%d", member, i, j), members))
		}
		fmt.Fprintf(&b, "  - call: [%s]\n", strings.Join(calls, ", "))
	}
	for id := 1; id <= 12 && random.IntN(30) > 0; id++ { // most members do in the end what they own
		fmt.Fprintf(&b, `  - {when: '(own|claimed)(.|\n)*#%[1]d\b', call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}], times: 9}`+"\n", id)
	}
	return b.String() + "  - {say: Well., times: -1}\n"
}

func anyCall(random *rand.Rand, text string, members []string) string {
	id := 1 + random.IntN(6)
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	switch random.IntN(9) {
	case 0, 1:
		return fmt.Sprintf(`{tool: SendMessage, input: {to: %q, message: %q}}`, pick(append(members, "*", "ghost")...), text)
	case 2:
		return fmt.Sprintf(`{tool: TaskCreate, input: {subject: %q, description: d}}`, text)
	case 3:
		return fmt.Sprintf(`{tool: TaskUpdate, input: {taskId: "%d", addBlockedBy: ["%d"]}}`, id, 1+random.IntN(6))
	case 4:
		return fmt.Sprintf(`{tool: TaskUpdate, input: {taskId: "%d", owner: %q}}`, id, pick(append(members, "", "ghost")...))
	case 5:
		return fmt.Sprintf(`{tool: %s, input: {taskId: "%d"}}`, pick("TaskGet", "TaskList", "ListMembers", "mcp__no__tool"), id)
	}
	return fmt.Sprintf(`{tool: TaskUpdate, input: {taskId: "%d", status: %s}}`, id,
		pick("in_progress", "in_progress", "completed", "completed", "pending", "deleted"))
}

// checkAny looks at what a team has left that came to its end by itself.
func checkAny(r *teamtest.Rig, e orchestrator.Ending) {
	t := r.T
	t.Helper()
	all := r.List() // which has the store checked
	if open := tasks.OpenTasks(all); (e.Code == orchestrator.CodeDone) && len(open) > 0 {
		t.Errorf("the team is done with open tasks %+v", open)
	}
	for _, task := range all {
		if task.Status == tasks.InProgress && task.Owner == "" {
			t.Errorf("task %s is in progress and nobody's", task.ID)
		}
	}
	place := r.Place()
	r.CheckJournal(place)
	shown := map[string]int{}
	for _, path := range teamtest.GlobAll(t, place.Transcripts()) {
		r.CheckTranscript(path, shown)
	}
	want := map[string]int{}
	delivered := map[string]int{}
	for _, l := range r.Lines.All() {
		var m mail.Message
		if err := json.Unmarshal(l.Data, &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Type == "message_delivered":
			delivered[m.ID]++
		case l.Type == "message":
			delivered[m.ID] += 0
			if m.Kind == mail.Text {
				want[m.Text+"</teammate-message>"]++ // a broadcast is one for each
			}
		}
	}
	for text, n := range want {
		if shown[text] != n {
			t.Errorf("%q was sent %d times and shown %d times", text, n, shown[text])
		}
	}
	var twice []string
	for id, n := range delivered {
		if n > 1 {
			twice = append(twice, id)
		}
	}
	if len(twice) > 0 {
		t.Errorf("messages %v were delivered more than once", slices.Sorted(slices.Values(twice)))
	}
	if t.Failed() {
		t.Logf("the journal:\n%s", teamtest.Show(r.Lines.All()))
	}
}
