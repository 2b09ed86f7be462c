package crew

import (
	"context"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestWhoLeavesGetsNothing: a leaving, idle member gets no work, not even its own tasks,
// which become open one after another.
func TestWhoLeavesGetsNothing(t *testing.T) {
	c := crewOf(t, Deps{}, "lead", "dev")
	s := addSeat(t, c, &configs.Member{Name: "dev", SelfClaim: true})
	s.Life.Wait()
	look := plan.Scene{Seats: []plan.Seat{{Name: "lead", Lead: true, Idle: true}, s.view()}}
	look.Tasks = []tasks.Task{listedTask("1", tasks.Pending, "")}
	if moves := plan.Next(look); len(moves) != 1 || moves[0].Kind != plan.GiveClaim {
		t.Fatalf("a member that stays is given %+v, want a claim", moves)
	}
	s.Life.Leave("it was asked to")
	look.Seats[1] = s.view()
	if moves := plan.Next(look); len(moves) != 0 {
		t.Errorf("a member that leaves is given %+v", moves)
	}
}

// TestPartingWakesNobody: the news that a member has left waits for the others' next
// turn.
func TestPartingWakesNobody(t *testing.T) {
	left := mail.Message{ID: "1", Kind: mail.Terminated}
	text := mail.Message{ID: "2", Kind: mail.Text}
	if show, moot := plan.SortMail([]mail.Message{left}, nil, "dev"); len(show)+len(moot) != 0 {
		t.Errorf("alone: %v, %v", show, moot)
	}
	if show, _ := plan.SortMail([]mail.Message{left, text}, nil, "dev"); len(show) != 2 {
		t.Errorf("with a text: %v", show)
	}
}

// listedTask makes a task of a list, with its blockers.
func listedTask(id string, status tasks.Status, owner string, blockedBy ...string) tasks.Task {
	return tasks.Task{ID: id, Subject: "do " + id, Status: status, Owner: owner, Version: 1, BlockedBy: blockedBy}
}

// TestLeavesWhileItRests: a member that is told to leave while it rests after a failure
// is gone, whether it is killed or its rest ends first.
func TestLeavesWhileItRests(t *testing.T) {
	for name, rest := range map[string]time.Duration{"killed": time.Hour, "the rest is over": time.Nanosecond} {
		store := testkit.OpenStore(t, tasks.Open)
		c := crewOf(t, Deps{Store: store, Journal: runJournal(t, store), Processes: process.New(process.Unmarked)}, "lead", "dev")
		addSeat(t, c, &configs.Member{Name: "lead"})
		s := addSeat(t, c, &configs.Member{Name: "dev"})
		s.Life.Restart(rest)
		s.Life.Leave("a person ended it")
		ctx, cancel := context.WithCancel(t.Context())
		if rest == time.Hour {
			cancel()
		}
		c.vacateRested(ctx, s)
		cancel()
		if gone := s.Life.State().Gone; gone != "a person ended it" {
			t.Errorf("%s: it is gone for %q", name, gone)
		}
	}
}

// TestRetiresWithoutASeat: a member without a seat that is removed from the spec is not
// seated, and there is no warning.
func TestRetiresWithoutASeat(t *testing.T) {
	store := testkit.OpenStore(t, tasks.Open)
	lines := make(chan events.Line, 10)
	c := crewOf(t, Deps{Store: store, Journal: runJournal(t, store, func(l events.Line) { lines <- l })}, "lead")
	addSeat(t, c, &configs.Member{Name: "lead"})
	c.ApplyChanges(t.Context(), []events.MemberChange{{Name: "dev", Change: events.MemberRetires}})
	c.deps.Journal.Append(events.Event{Member: "lead", Data: events.Warning{Text: "the next line"}})
	for l := range lines {
		if l.Member == "lead" {
			break
		}
		if l.Member != "" {
			t.Errorf("before the next line: %s %s", l.Member, l.Data)
		}
	}
}
