package plan

import (
	"testing"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// A lead is not woken to say that it waits: for its first goal and for reports, while
// members who can act own all open tasks.
func TestLeadWaits(t *testing.T) {
	t.Parallel()
	goal, report := mail.Message{ID: "g", Kind: mail.Goal}, mail.Message{ID: "r", Kind: mail.Text, From: "a", Summary: mail.ReportSummary}
	for name, test := range map[string]struct {
		edit func(*Scene)
		want string
	}{
		"the goal, all tasks owned": {func(*Scene) {}, ""},
		"a report":                  {func(s *Scene) { s.Seats[0].Unread, s.Seats[0].Turn = []mail.Message{report}, 1 }, ""},
		"the goal and a report":     {func(s *Scene) { s.Seats[0].Unread = []mail.Message{goal, report} }, ""},
		"a message beside them": {func(s *Scene) {
			s.Seats[0].Unread = []mail.Message{goal, report, {ID: "m", Kind: mail.Text, From: "a"}}
		}, "mail lead"},
		"a goal that is not the first": {func(s *Scene) { s.Seats[0].Turn = 1 }, "mail lead"},
		"no task":                      {func(s *Scene) { s.Tasks, s.Seats[1].Idle = nil, true }, "mail lead"},
		"a task that is being merged": {func(s *Scene) {
			s.Tasks[0].Status = tasks.Completed
			s.Tasks = WithUnmerged(s.Tasks, map[string]bool{"1": true})
		}, ""},
		"a task of nobody":             {func(s *Scene) { s.Tasks[1].Owner = "" }, "mail lead"},
		"a task of its own":            {func(s *Scene) { s.Tasks[1].Owner = "lead" }, "mail lead"},
		"an owner who is no member":    {func(s *Scene) { s.Tasks[1].Owner = "x" }, "mail lead"},
		"an owner who is gone":         {func(s *Scene) { s.Seats[2].Gone = true }, "mail lead"},
		"an owner who is held":         {func(s *Scene) { s.Seats[2].Held = true }, "mail lead"},
		"an owner in trouble":          {func(s *Scene) { s.Seats[2].Attention = "it failed" }, "mail lead"},
		"an owner at a vendor's limit": {func(s *Scene) { s.Seats[2].Lock = LockUsedUp }, "mail lead"},
		"the last task is done, its owner not yet": {func(s *Scene) {
			s.Tasks[0].Status, s.Tasks[1].Status = tasks.Completed, tasks.Completed
		}, ""},
		"all rest, and the report is due": {func(s *Scene) {
			s.Tasks[0].Status, s.Tasks[1].Status, s.Seats[1].Idle = tasks.Completed, tasks.Completed, true
		}, "report lead"},
		"all rest, and nothing else is left": {func(s *Scene) {
			s.Tasks[0].Status, s.Tasks[1].Status, s.Seats[1].Idle = tasks.Completed, tasks.Completed, true
			s.LastReport = Fingerprint(s.Tasks)
		}, "mail lead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Scene{Seats: crewOf("a", "b"), Tasks: []tasks.Task{
				task("1", tasks.InProgress, "a"), task("2", tasks.Pending, "b", "1"),
			}}
			s.Seats[0].Unread, s.Seats[1].Idle = []mail.Message{goal}, false
			test.edit(&s)
			if got := told(Next(s)); got != test.want {
				t.Errorf("plan gives %q, want %q", got, test.want)
			}
		})
	}
}
