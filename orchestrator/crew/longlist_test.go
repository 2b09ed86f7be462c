package crew

import (
	"fmt"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// longList returns a director of five idle members whose list has n ready tasks, and what
// completes the next one of them. The director has had its first round.
func longList(tb testing.TB, n int) (d *director, complete func()) {
	tb.Helper()
	c := crewAtRest(tb, "claim", 5)
	for ; n > 0; n -= 1000 {
		more := make([]tasks.New, min(n, 1000))
		for i := range more {
			more[i].Subject = "More"
		}
		if _, err := c.deps.Store.Load(tb.Context(), tasks.Loading{Tasks: more}); err != nil {
			tb.Fatal(err)
		}
	}
	d = &director{c: c}
	m0, _ := c.deps.Seats.Of("m0")
	m0.Member.Rotate = configs.RotateAfterTask
	if _, err := c.deps.Store.Members().Attach(tb.Context(), "m0", func() string { return "first" }); err != nil {
		tb.Fatal(err)
	}
	next := 0
	round := func() []plan.Move {
		_, moves, err := d.round(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		return moves
	}
	round()
	return d, func() {
		next++
		id, done := fmt.Sprint(next), tasks.Completed
		if moves := round(); len(moves) != 5 || moves[0].Kind != plan.GiveClaim || moves[0].Tasks[0].ID != id {
			tb.Fatalf("before task %s is done, the moves are %+v", id, moves)
		}
		if _, err := c.deps.Store.Claim(tb.Context(), actors.Actor{Name: "m0"}, id, tasks.Claim{Member: "m0"}); err != nil {
			tb.Fatal(err)
		}
		round()
		if _, _, err := c.deps.Store.Update(tb.Context(), actors.Actor{Name: "m0"}, id, tasks.Patch{Status: &done}); err != nil {
			tb.Fatal(err)
		}
		round()
		ended := c.markEmpty(tb.Context(), c.deps.Seats.Lead(), events.TurnEnded{})
		if !ended.(events.TurnEnded).Empty {
			tb.Error("the lead's turn is not empty, though tasks are open")
		}
		if !m0.dueForRotation(tb.Context()) {
			tb.Error("no new session is due after a task")
		}
	}
}

// BenchmarkTask measures the time of the changes and the rounds of one completed task, which
// must not depend on the number of tasks in the list.
//
//	go test -run xxx -bench Task$ ./orchestrator/crew
func BenchmarkTask(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("tasks=", n), func(b *testing.B) {
			_, complete := longList(b, n)
			for b.Loop() {
				complete()
			}
		})
	}
}

// TestRoundsOfALongList: what a completed task costs the rounds does not grow with the list.
func TestRoundsOfALongList(t *testing.T) {
	cost := func(n int) float64 {
		_, complete := longList(t, n)
		return testing.AllocsPerRun(20, complete)
	}
	if short, long := cost(1_000), cost(10_000); long > 1.3*short {
		t.Errorf("%.0f allocations with 1,000 tasks, %.0f with 10,000", short, long)
	}
}
