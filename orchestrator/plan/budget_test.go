package plan

import (
	"testing"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// Plans of a team that has used up its budget, and of members that have used up
// their limits.
func TestPlanOfBudgets(t *testing.T) {
	inProgress := []tasks.Task{task("1", tasks.InProgress, "a")}
	for name, tt := range map[string]struct {
		edit func(*Scene)
		want string
	}{
		"its own limit, with a task": {func(s *Scene) { s.Tasks = inProgress; s.Seats[1].Spent = "x" },
			"last a"},
		"after the last word": {func(s *Scene) {
			s.Tasks = inProgress
			s.Seats[1].Spent,
				s.Seats[1].LastWord = "x", true
		}, "used up a"},
		"without a task":      {func(s *Scene) { s.Seats[1].Spent = "x" }, "used up a"},
		"the team, in a turn": {func(s *Scene) { s.Exhausted = "x"; s.Seats[0].Idle = false }, ""},
		"the team, tasks in progress": {func(s *Scene) {
			s.Exhausted, s.Tasks, s.Seats[0].LastWord = "x",
				inProgress, true
		}, "last a"},
		"the team, the lead reports":      {func(s *Scene) { s.Exhausted = "x" }, "last lead"},
		"the team, nobody has a word":     {func(s *Scene) { s.Exhausted, s.Seats[0].LastWord = "x", true }, "finish"},
		"the team is to be stopped":       {func(s *Scene) { s.Stopped, s.Tasks = "x", inProgress }, "finish"},
		"stopped, and somebody is at it":  {func(s *Scene) { s.Stopped = "x"; s.Seats[1].Idle = false }, ""},
		"who is locked out has no word":   {func(s *Scene) { s.Exhausted = "x"; s.Seats[0].Lock = LockUsedUp }, "finish"},
		"mail does not help it on either": {func(s *Scene) { s.Seats[1].Spent = "x"; s.Seats[1].Unread = []mail.Message{{ID: "m"}} }, "used up a"},
	} {
		s := Scene{Seats: []Seat{{Name: "lead", Lead: true, Idle: true}, {Name: "a", Idle: true}}}
		tt.edit(&s)
		got := ""
		for _, m := range Next(s) {
			got = string(m.Kind)
			if m.Member != "" {
				got += " " + m.Member
			}
			if m.Kind == Finish && !m.Limit {
				t.Errorf("%s: the team finishes without a limit", name)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
