package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// TestImpasseNamesWishes: the lead hears what whom lacks, because it is the one who
// can give the task away all the same.
func TestImpasseNamesWishes(t *testing.T) {
	x := task("1", tasks.Pending, "")
	x.Wants = tasks.Wants{Labels: []string{"sql"}}
	s := Scene{Tasks: []tasks.Task{x}, Seats: []Seat{
		{Name: "lead", Lead: true, Idle: true},
		{Name: "a", Idle: true, SelfClaim: true, Skills: tasks.Skills{Labels: []string{"go"}}},
		{Name: "b", Idle: true, SelfClaim: true},
		{Name: "c", Gone: true, Idle: true, SelfClaim: true},
	}}
	moves := Next(s)
	if len(moves) != 1 || moves[0].Kind != TellLead ||
		!strings.Contains(moves[0].Reason, "nobody suits it (a lacks label sql; b lacks label sql)") {
		t.Errorf("moves %+v", moves)
	}
	s.Seats[2].Skills.Labels = []string{"sql"}
	if moves := Next(s); len(moves) != 1 || moves[0].Kind != GiveClaim || moves[0].Member != "b" {
		t.Errorf("with somebody who suits: %+v", moves)
	}
	s.Seats[2].Attention = "it is stuck"
	if why := stuck(s, x); !strings.Contains(why, "no idle member takes it by itself") {
		t.Errorf("somebody suits, and does not take it: %s", why)
	}
}

// TestImpasseOfManyIsShort: of a large team in an impasse, a few members and tasks are named and the
// others counted.
func TestImpasseOfManyIsShort(t *testing.T) {
	var s Scene
	for i := range 300 {
		name := fmt.Sprint("dev-", i)
		s.Tasks = append(s.Tasks, task(fmt.Sprint(i+1), tasks.InProgress, name))
		s.Seats = append(s.Seats, Seat{Name: name, Idle: true, Attention: "its gates refused 9 times"})
	}
	got := impasse(s, s.Tasks)
	for _, want := range []string{"dev-4 needs attention: its gates refused 9 times; and 295 more; nobody can go on: task 1 ", "; and 295 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if len(got) > 1200 {
		t.Errorf("%d bytes", len(got))
	}
}
