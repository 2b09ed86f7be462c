package crew

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestPlanOfHeldMembers: a held member gets nothing and the others continue. A team in
// which only held members could continue comes to rest and says so.
func TestPlanOfHeldMembers(t *testing.T) {
	now := time.Now()
	person := []mail.Message{{ID: "m1", Kind: mail.OperatorMessage, From: actors.Operator, Text: "go", Sent: now}}
	own := tasks.Task{ID: "1", Subject: "One", Status: tasks.InProgress, Owner: "ben"}
	behind := tasks.Task{ID: "2", Subject: "Two", Status: tasks.Pending, Owner: "ana", BlockedBy: []string{"1"}}
	free := tasks.Task{ID: "3", Subject: "Three", Status: tasks.Pending}
	lost := tasks.Task{ID: "4", Subject: "Four", Status: tasks.Pending, Owner: "gone"}
	for name, tc := range map[string]struct {
		tasks []tasks.Task
		ben   members.Hold
		mail  []mail.Message
		want  plan.Kind
		who   string
		says  string
	}{
		"its task":                {tasks: []tasks.Task{own}, want: plan.Finish, says: "ben is held; `covey resume ben`"},
		"a task behind its task":  {tasks: []tasks.Task{own, behind}, want: plan.Finish, says: "ben is held"},
		"a task of somebody else": {tasks: []tasks.Task{own, free}, want: plan.GiveClaim, who: "ana"},
		"a task of nobody's":      {tasks: []tasks.Task{own, lost}, want: plan.TellLead, who: "lead"},
		"no task at all":          {want: plan.Finish, says: "all work is done"},
		"held by the lead":        {tasks: []tasks.Task{own}, ben: members.Hold{By: "lead"}, want: plan.Finish, says: "ben is held"},
		"a turn that was cut off": {ben: members.Hold{Cut: true}, want: plan.Finish, says: "ben is held"},
		"mail of another": {mail: []mail.Message{{ID: "m2", From: "ana", Text: "hi",
			Sent: now.Add(time.Hour)}}, want: plan.Finish, says: "ben is held"},
		"an older word": {ben: members.Hold{Since: now.Add(time.Hour)}, mail: person, want: plan.Finish,
			says: "ben is held"},
		"a word of the operator's": {ben: members.Hold{Since: now.Add(-time.Hour)}, mail: person, want: plan.GiveMail, who: "ben"},
		"unread when it was cut": {ben: members.Hold{Cut: true, Since: now.Add(time.Hour)}, mail: person,
			want: plan.GiveMail, who: "ben"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plan.Scene{Tasks: tc.tasks, Seats: []plan.Seat{
				{Name: "lead", Lead: true, Idle: true}, {Name: "ana", Idle: true, SelfClaim: true},
				{Name: "ben", Idle: true, SelfClaim: true, Unread: tc.mail},
			}}
			then := members.Clock{TimeNow: func() time.Time { return tc.ben.Since }}
			held, err := members.OpenHolds(t.Context(), testkit.OpenStore(t, tasks.Open), then, func(string, events.Data) {})
			if err != nil {
				t.Fatal(err)
			}
			if err := held.Hold(t.Context(), "ben", cmp.Or(tc.ben.By, actors.Operator), tc.ben.Cut); err != nil {
				t.Fatal(err)
			}
			held.Describe(&s, nil)
			s.LiftHolds()
			moves := plan.Next(s)
			if len(moves) != 1 || moves[0].Kind != tc.want || moves[0].Member != tc.who ||
				!strings.Contains(moves[0].Reason, tc.says) {
				t.Errorf("moves %+v", moves)
			}
			if tc.says != "" && moves[0].Done != (tc.says == "all work is done") {
				t.Errorf("done: %v", moves[0].Done)
			}
			// What the operator holds keeps the team up, and what the lead holds does not.
			if held := strings.Contains(tc.says, "is held") && tc.ben.By == ""; moves[0].Held != held {
				t.Errorf("held: %v", moves[0].Held)
			}
		})
	}
}
