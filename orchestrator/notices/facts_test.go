package notices

import (
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestHappened: which lines of the journal are told, and how; what is not of a known shape is
// not.
func TestHappened(t *testing.T) {
	done := tasks.Change{Op: tasks.TaskCompleted, Task: tasks.Task{ID: "4", Owner: "dev", Subject: "Do it"}}
	claimed := done
	claimed.Op = tasks.Claimed
	for name, c := range map[string]struct {
		data events.Data
		want Notice // the zero Notice: it is not told
	}{
		"completed": {events.TaskChanged{Change: done}, Notice{
			Kind: configs.NotableDone, Member: "dev", Task: "4", Text: "dev has completed task 4: Do it",
		}},
		"claimed": {events.TaskChanged{Change: claimed}, Notice{}},
		"a gate": {events.HookFeedback{Event: "Stop", Text: "no\nno"}, Notice{
			Kind: configs.NotableRefused, Member: "ops", Text: "ops was refused by Stop: no",
		}},
		"a hook at a tool": {events.HookFeedback{Event: "PreToolUse", Text: "no"}, Notice{}},
		"a member's limit": {events.BudgetUse{Member: "dev", What: events.Tokens, Used: 10, Limit: 10, Level: 100}, Notice{
			Kind: configs.NotableBudget, Member: "dev", Text: "dev has used 10 of 10 tokens (100 %)",
		}},
		"half of it":   {events.BudgetUse{What: events.Tokens, Used: 5, Limit: 10, Level: 50}, Notice{}},
		"no limit":     {events.BudgetUse{What: events.Tokens, Used: 5, Level: 100}, Notice{}},
		"another line": {events.TextSaid{Text: "x"}, Notice{}},
		"a request":    {events.RequestChanged{Request: requests.Request{ID: "r1"}}, Notice{}},
	} {
		e := events.Event{Seq: 9, Time: noon, Member: "ops", Data: c.data}
		got, told := happened(e)
		if c.want.Kind != "" {
			c.want.Seq, c.want.Since = 9, noon
		}
		if told != (c.want.Kind != "") || told && string(texts.Encode(got)) != string(texts.Encode(c.want)) {
			t.Errorf("%s: %+v, %v", name, got, told)
		}
		if told && !isNews(e) {
			t.Errorf("%s does not wake the notices", name)
		}
	}
}

// TestOpenIn: each kind of request to a person is open, with its task, and so is finished work that
// waits to be merged; a request to a member is not.
func TestOpenIn(t *testing.T) {
	r := newRig(t)
	for _, q := range []requests.New{
		{Kind: requests.AskPlan, Member: "dev", To: actors.Operator, Text: "the plan"},
		{Kind: requests.AskApproval, Member: "dev", To: actors.Operator, Text: "the work", Payload: json.RawMessage(`{"task_id":"7"}`)},
		{Kind: requests.AskAttention, Member: "ops", To: actors.Operator, Text: "trouble"},
		{Kind: requests.AskMerge, Member: "ops", To: actors.Operator, Text: "a merge"},
		{Kind: requests.AskPlan, Member: "ops", To: "lead", Text: "for the lead"},
	} {
		if _, err := r.store.Requests().Ask(t.Context(), actors.Actor{Name: q.Member}, q); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []tasks.Merge{
		{Branch: "b1", Member: "dev", Tasks: []string{"7"}, State: tasks.MergeWaiting},
		{Branch: "b2", Member: "ops", Tasks: []string{"8"}, State: tasks.MergeQueued},
	} {
		m.Commit, m.Into = "c1", "main"
		if _, err := r.store.Merges().Propose(t.Context(), actors.Actor{}, m); err != nil {
			t.Fatal(err)
		}
	}
	open, err := openIn(t.Context(), r.store)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, n := range open {
		got += string(n.Kind) + " " + n.ID + " of " + n.Member + " " + n.Task + "\n"
	}
	if want := "approval r1 of dev \napproval r2 of dev 7\nattention r3 of ops \nmerge_held r4 of ops \nunmerged merge 1 of dev 7\n"; got != want {
		t.Errorf("open:\n%swant:\n%s", got, want)
	}
}
