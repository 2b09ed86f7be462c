package accounts_test

import (
	"fmt"
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

// noted checks that a member was told of these levels, each of them once.
func noted(r *teamtest.Rig, member, prefix string, levels ...int) {
	r.T.Helper()
	text := r.TranscriptOf(member)
	for _, level := range []int{50, 75, 90, 100} {
		n := strings.Count(text, fmt.Sprintf(`"%s:%d"`, prefix, level))
		if want := slices.Contains(levels, level); want != (n == 1) || n > 1 {
			r.T.Errorf("%s was told of %d %% %d times", member, level, n)
		}
	}
}

// A member is told how much of its own limit is used, hands over, and takes no
// more turns until the limit is raised; then it goes on where it was.
func TestMemberUsesUpItsLimit(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, teamtest.Toilers("", ", limits: {max_tokens: 1000}", "dev"))
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "limits.max_tokens is used up: 1000 of 1000 tokens")
	noted(r, "dev", "budget:dev:tokens:1000", 50, 100)
	if dev := e.Members[1]; dev.State != api.NeedsAttention || len(dev.Limits) != 1 || dev.Limits[0].Used != 1000 {
		t.Errorf("dev ended as %+v", dev)
	}
	if list := r.List(); list[0].Status != tasks.InProgress || string(list[0].Metadata["left"]) != `"all"` {
		t.Errorf("its task is %+v", list[0])
	}
	var levels []int
	for _, u := range teamtest.Of[events.BudgetUse](r, "budget") {
		levels = append(levels, u.Level)
	}
	if !slices.Equal(levels, []int{50, 75, 90, 100}) {
		t.Errorf("the journal tells of %v", levels)
	}

	e = r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "1000 of 1000 tokens")
	if e.Members[1].Turns != 0 {
		t.Errorf("in the next run dev took %d turns", e.Members[1].Turns)
	}
	r.Rewrite("team.yaml", "max_tokens: 1000", "max_tokens: 100000")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
}

// Two members use up the team's budget at once. They hand over within it, and no more is used than
// what was under way; then the team ends, and a restart makes no difference.
func TestTeamUsesUpItsBudget(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, teamtest.Toilers("budget: {tokens: 2000}\nkeep: true\n", "", "ana", "bob"))
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "budget.tokens is used up")
	used := e.Budget[0].Used
	if used < 1500 || used > 2000+2*100 {
		t.Errorf("%v tokens are used, which may be 2000, and one request of each member more", used)
	}
	for _, name := range []string{"ana", "bob"} {
		noted(r, name, "budget:team::tokens:2000", levelsIn(r.TranscriptOf(name))...)
		if !strings.Contains(r.TranscriptOf(name), "Finish and hand over") {
			t.Errorf("%s was not told to hand over", name)
		}
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeLimit, "budget.tokens is used up")
	if again := teamtest.Of[events.TurnStarted](r, "turn_started"); len(again) != 0 {
		t.Errorf("the next run has turns: %+v", again)
	}
}

// levelsIn are the levels of the team that a transcript tells of.
func levelsIn(transcript string) []int {
	var levels []int
	for _, level := range []int{50, 75, 90, 100} {
		if strings.Contains(transcript, fmt.Sprintf(`"budget:team::tokens:2000:%d"`, level)) {
			levels = append(levels, level)
		}
	}
	return levels
}

// Whenever covey is killed, nothing is counted twice or told twice.
func TestBudgetSurvivesKills(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, teamtest.Toilers("", ", limits: {max_tokens: 3000}", "dev"))
	for i := range 4 {
		if !r.KillAt([]string{"budget", "tool_result"}[i%2]) {
			if i == 0 {
				t.Fatal("the team ended before it was killed")
			}
			break // the kills before came so late that nothing is left
		}
	}
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "limits.max_tokens is used up")
	text := r.TranscriptOf("dev")
	counted := 100 * strings.Count(text, `"usage":{"input_tokens":90,"output_tokens":10}`)
	if got := int(e.Members[1].Limits[0].Used); got != counted || got > 3000+100 {
		t.Errorf("%d tokens are counted, the transcript has %d", got, counted)
	}
	noted(r, "dev", "budget:dev:tokens:3000", 50, 75, 100)
}

// What is used costs what the team's own price file says, in this run and after.
func TestBudgetInDollars(t *testing.T) {
	t.Parallel()
	files := teamtest.Toilers("budget: {usd: 1, prices: prices.yaml}\n", "", "dev")
	// The lead gives the task, so that it has used something before dev ends the budget.
	files["team.yaml"] = strings.Replace(files["team.yaml"], "tasks:\n  - {id: t0, subject: Toil, owner: dev}\n", "", 1)
	files["lead.yaml"] = `usage: {input_tokens: 1}
steps:
  - when: Ship it
    call: [{tool: TaskCreate, input: {subject: Toil, description: Toil}}, {tool: TaskUpdate, input: {taskId: "1", owner: dev}}]
  - {say: I leave it to them., times: -1}
`
	files["prices.yaml"] = "covey_prices: 1\ndate: 2026-11-01\nprices:\n  - {model: script/d*, input: 1000, output: 1000}\n"
	r := teamtest.NewRig(t, files)
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "budget.usd is used up: at least 1.")
	// The lead has no price, and people are told so.
	if w := teamtest.Of[events.Warning](r, "warning"); len(w) != 1 || !strings.Contains(w[0].Text,
		`give "script/lead" a price`) {
		t.Errorf("warnings %+v", w)
	}
	var cost float64
	for _, end := range teamtest.Of[events.TurnEnded](r, "turn_ended") {
		cost += end.CostUSD
	}
	if used := e.Budget[0].Used; fmt.Sprintf("%.3f", used) != fmt.Sprintf("%.3f", cost) || used > 1.7 ||
		e.Members[1].CostUSD != cost {
		t.Errorf("%v dollars are used, the turns cost %v, dev %v", used, cost, e.Members[1].CostUSD)
	}
	r.Rewrite("team.yaml", "usd: 1,", "usd: 1.6,")
	if again := r.Run(orchestrator.Options{}); again.Budget[0].Used < cost {
		t.Errorf("the next run counts %+v", again.Budget)
	}
}

// The time that a team may be up ends it, though nobody asks for a pass, and also
// when it is to be kept up.
func TestBudgetOfTime(t *testing.T) {
	t.Parallel()
	files := teamtest.Toilers("budget: {time: 1s}\nkeep: true\n", "", "dev")
	files["dev.yaml"] = "steps: [{say: Well., times: -1}]\n"
	files["team.yaml"] = strings.Replace(files["team.yaml"],
		"tasks:\n  - {id: t0, subject: Toil, owner: dev}\n", "", 1)
	r := teamtest.NewRig(t, files)
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "budget.time is used up")
	if e.Elapsed > testkit.Patience || e.Budget[0].What != events.Time {
		t.Errorf("after %v: %+v", e.Elapsed, e.Budget)
	}
	r.Rewrite("team.yaml", "time: 1s", "time: 1h")
	r.Rewrite("team.yaml", "keep: true\n", "")
	e = r.Run(orchestrator.Options{Goal: "Once more."})
	r.Want(e, orchestrator.CodeDone, "")
	if up := e.Budget[0].Used; up < 1 || up > 60 {
		t.Errorf("the team has been up for %v s", up)
	}
}
