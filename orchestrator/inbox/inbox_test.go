package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestTimeLeft: a question never waits longer than it was given, whatever was done
// to the clock.
func TestTimeLeft(t *testing.T) {
	asked := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r := requests.Request{Created: asked, Deadline: asked.Add(10 * time.Minute)}
	for name, tc := range map[string]struct {
		now  time.Duration
		want time.Duration
	}{
		"at once":             {0, 10 * time.Minute},
		"after a while":       {4 * time.Minute, 6 * time.Minute},
		"too late":            {time.Hour, 0},
		"the clock went back": {-24 * time.Hour, 10 * time.Minute},
	} {
		if got := timeLeft(r, asked.Add(tc.now)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestApprovalKey: what an approver has seen is what its yes is good for.
func TestApprovalKey(t *testing.T) {
	base := tasks.Task{ID: "1", Subject: "s", Version: 3, Epoch: 1}
	key := approvalKey(base, "rev", "", "")
	same, changed := base, base
	same.Version, same.Epoch = 9, 2
	changed.Description = "more"
	if approvalKey(same, "rev", "", "") != key {
		t.Error("a restart voids an approval")
	}
	if approvalKey(changed, "rev", "", "") == key || approvalKey(base, "ben", "", "") == key ||
		approvalKey(base, "rev", "4b825d", "") == key || approvalKey(base, "rev", "", "/copy") == key {
		t.Error("an approval is good for something else")
	}
}

// TestMayGrant: a member lets another do no more than its spec does.
func TestMayGrant(t *testing.T) {
	dev := &members.Member{Member: &configs.Member{Name: "dev", PermissionMode: configs.AcceptEdits, PlanRequired: true}}
	b := New(&configs.Team{}, Deps{Members: &planning{dev: dev}})
	plan := requests.Request{Kind: requests.AskPlan, Member: "dev", To: "lead"}
	for _, tc := range []struct {
		by, mode string
		kind     requests.Kind
		says     string
	}{
		{"lead", "", requests.AskPlan, ""},
		{"lead", "default", requests.AskPlan, ""},
		{"lead", "acceptEdits", requests.AskPlan, ""},
		{"lead", "bypassPermissions", requests.AskPlan, "only a person can give it bypassPermissions"},
		{actors.Operator, "bypassPermissions", requests.AskPlan, ""},
		{actors.Operator, "all", requests.AskPlan, `permission mode "all"`},
		{actors.Operator, "default", requests.AskApproval, "is only for the approval of a plan"},
	} {
		r := plan
		r.Kind = tc.kind
		err := b.mayGrant(actors.Actor{Name: tc.by}, r, Answer{Mode: tc.mode})
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s gives %q: %v, want %q", tc.by, tc.mode, err, tc.says)
		}
	}
}

// TestUsualMode: plan: required is not a mode for good.
func TestUsualMode(t *testing.T) {
	for _, tc := range []struct {
		m    configs.Member
		want configs.PermissionMode
	}{
		{configs.Member{}, configs.Default},
		{configs.Member{PermissionMode: configs.AcceptEdits}, configs.AcceptEdits},
		{configs.Member{PermissionMode: configs.Plan}, configs.Plan},
		{configs.Member{PermissionMode: configs.Plan, PlanRequired: true}, configs.Default},
	} {
		if got := usualMode(&members.Member{Member: &tc.m}); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.m, got, tc.want)
		}
	}
}

// told is a journal, and a team in which nobody has taken a turn.
type told struct {
	Members
	lines []string
}

func (t *told) Turn(string) int { return 0 }

func (t *told) Append(e events.Event) {
	text := e.Member + " " + e.Data.Type()
	if w, ok := e.Data.(events.Waiting); ok {
		text += fmt.Sprintf(" %s: %s", w.Kind, w.For)
	}
	t.lines = append(t.lines, text)
}

// TestAside: a member that waits in its turn lends its slot, and tells what it waits for
// until it has one again.
func TestAside(t *testing.T) {
	var j told
	say := func(text string) { j.lines = append(j.lines, text) }
	b := New(&configs.Team{}, Deps{Journal: &j, Members: &j, Lend: func(member string) func(context.Context) error {
		say(member + " lends")
		return func(context.Context) error {
			say(member + " has a slot")
			return nil
		}
	}})
	if err := b.Asker("dev").beginWait("permission")(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"dev waiting answer: permission", "dev lends", "dev has a slot", "dev waiting answer: "}
	if !slices.Equal(j.lines, want) {
		t.Errorf("%q, want %q", j.lines, want)
	}
}

// TestClearSolved: attention ends when the tasks that it is about have changed, and when a
// limit was raised; of a member's life that has ended nothing is left. The end is told once.
func TestClearSolved(t *testing.T) {
	var j told
	b := New(&configs.Team{}, Deps{Journal: &j, Members: &j})
	stuck := []tasks.Task{{ID: "1", Owner: "dev", Status: tasks.Pending}}
	for _, member := range []string{"dev", "ops", "rev", "old"} {
		b.Attention.change(member, func(tr *trouble) { tr.reason = "it does not get on" })
	}
	b.Attention.Stuck("dev", plan.Fingerprint(stuck))
	b.Attention.Stuck("old", plan.Fingerprint(stuck))
	if b.Attention.clear("old"); b.Attention.members["old"].reason != "" || len(b.Attention.members) != 3 {
		t.Errorf("%+v is left", b.Attention.members)
	}
	look := func(list []tasks.Task) (needing string) {
		s := plan.Scene{Tasks: list, Seats: []plan.Seat{{Name: "dev"}, {Name: "ops"}, {Name: "rev"}}}
		b.Attention.ClearSolved(&s, func(member string) bool { return member == "ops" })
		for _, seat := range s.Seats {
			if seat.Attention != "" {
				needing += seat.Name + " "
			}
		}
		return needing
	}
	if needing := look(stuck); needing != "dev rev " {
		t.Errorf("%sneed attention", needing)
	}
	if needing := look(nil); needing != "rev " || b.Attention.members["dev"].reason != "" {
		t.Errorf("%sneed attention after the task has gone", needing)
	}
	b.Attention.clear("dev")
	if want := []string{"old attention_over", "ops attention_over", "dev attention_over"}; !slices.Equal(j.lines, want) {
		t.Errorf("told %q, want %q", j.lines, want)
	}
}

// TestQuestionsAreFoundByName: the questions of a member are found without going through
// the list of them all.
func TestQuestionsAreFoundByName(t *testing.T) {
	b := New(&configs.Team{}, Deps{})
	b.open = sort([]requests.Request{
		{ID: "0", Kind: requests.AskPlan, Member: "m0", To: "m1"}, {ID: "1", Kind: requests.AskPlan, Member: "m1", To: "m0"},
	})
	b.open.All = nil
	s := plan.Scene{Seats: []plan.Seat{{Name: "m0"}, {Name: "m1"}, {Name: "lead"}}}
	b.Describe(&s, nil)
	for i, want := range []plan.Seat{
		{Awaits: "m1's approval of its plan", Questions: "1 "}, {Awaits: "m0's approval of its plan", Questions: "0 "}, {},
	} {
		if got := s.Seats[i]; got.Awaits != want.Awaits || got.Questions != want.Questions {
			t.Errorf("%s waits for %q and owes %q", got.Name, got.Awaits, got.Questions)
		}
	}
}
