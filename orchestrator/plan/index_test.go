package plan

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// idleCrowd is a team of so many idle members. Each has a task in progress, or one is ready
// for it that nobody has.
func idleCrowd(members int, owned bool) Scene {
	s := Scene{Seats: []Seat{{Name: "lead", Lead: true, Idle: true}}}
	for i := range members {
		t := tasks.Task{ID: strconv.Itoa(i + 1), Subject: "Do it", Status: tasks.Pending, Version: 1}
		seat := Seat{Name: fmt.Sprint("m", i), Idle: true, SelfClaim: true}
		if owned {
			t.Status, t.Owner = tasks.InProgress, seat.Name
		}
		if i%2 == 1 {
			t.BlockedBy = []string{"100000"} // deleted since
		}
		s.Tasks, s.Seats = append(s.Tasks, t), append(s.Seats, seat)
	}
	return s
}

// TestPlanLooksAtATaskOnce: however many members there are, plan looks at each task a
// few times, and only through the index.
func TestPlanLooksAtATaskOnce(t *testing.T) {
	for _, owned := range []bool{true, false} {
		for _, members := range []int{100, 1000, 4000} {
			all := idleCrowd(members, owned)
			s := indexed(all)
			s.Tasks = nil // the index is all that is left
			moves := Next(s)
			if len(moves) != members {
				t.Fatalf("%d moves for %d members", len(moves), members)
			}
			if looks := float64(s.index.looks) / float64(members); looks > 2.1 {
				t.Errorf("%d members, owned %v: %.1f looks at a task for each", members, owned, looks)
			}
			if members == 100 && !reflect.DeepEqual(moves, Next(all)) {
				t.Error("the moves are others without an index made before")
			}
		}
	}
}

// BenchmarkPlan has the time of one plan for each member, which is the same for any number.
//
//	go test -run xxx -bench Plan$ ./orchestrator
func BenchmarkPlan(b *testing.B) {
	for _, owned := range []bool{true, false} {
		for _, members := range []int{100, 1000, 4000} {
			b.Run(fmt.Sprintf("owned=%v/members=%d", owned, members), func(b *testing.B) {
				s := idleCrowd(members, owned)
				for b.Loop() {
					Next(s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(members), "ns/member")
			})
		}
	}
}

// TestPlanLooksAtASeatOnce: however many members depend on each other, plan looks for each
// seat a few times.
func TestPlanLooksAtASeatOnce(t *testing.T) {
	for _, members := range []int{100, 1000} {
		s := indexed(idleCrowd(members, true))
		for i := 2; i < len(s.Seats); i++ {
			s.Seats[i].DependsOn = []string{s.Seats[i-1].Name}
		}
		Next(s)
		if looks := float64(s.index.looks+s.seats.looks) / float64(members); looks > 4 {
			t.Errorf("%d members: %.1f looks at tasks and seats for each", members, looks)
		}
	}
}

// TestOnlyReads: a member that can change nothing is offered only tasks that say what they
// want, and the lead is told why nobody takes another one.
func TestOnlyReads(t *testing.T) {
	seat := Seat{Name: "reviewer", Idle: true, SelfClaim: true, Turn: 1, OnlyReads: true,
		Skills: tasks.Skills{Role: "reviewer", Tools: []string{"Read"}}}
	scene := func(all ...tasks.Task) Scene {
		return Scene{Tasks: all, Seats: []Seat{{Name: "lead", Lead: true, Idle: true, Turn: 1}, seat}}
	}
	code := tasks.Task{ID: "1", Subject: "Write it", Status: tasks.Pending}
	moves := Next(scene(code))
	if len(moves) != 1 || moves[0].Kind != TellLead || !strings.Contains(moves[0].Reason, "reviewer lacks tools that change files") {
		t.Errorf("a task that wants nothing: %+v", moves)
	}
	for _, wants := range []tasks.Wants{{Tools: []string{"Read"}}, {Role: "reviewer"}} {
		read := tasks.Task{ID: "2", Subject: "Read it", Status: tasks.Pending, Wants: wants}
		if moves := Next(scene(code, read)); len(moves) != 1 || moves[0].Kind != GiveClaim || moves[0].Tasks[0].ID != "2" {
			t.Errorf("a task that wants %+v: %+v", wants, moves)
		}
	}
}
