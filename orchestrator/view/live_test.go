package view

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestLive: a running team's State has what its journal said before, what happens now, and what the
// store has committed, although no journal runs. What happens before the run begins belongs to it.
func TestLive(t *testing.T) {
	store := testkit.OpenStore(t, tasks.Open)
	l := NewLive(store.Outbox())
	for seq, text := range []string{`- team_started {"members":["lead","ana"]}`, `ana.4 turn_started {}`, `ana.4 turn_ended {}`} {
		l.Recall(lineOf(seq+1, text).Event())
	}
	l.Apply(events.Event{Member: "ana", Data: events.Warning{Text: "early"}})
	add := func(subject string) {
		t.Helper()
		_, err := store.Add(t.Context(), actors.Actor{Name: "lead"}, []tasks.New{{Subject: subject, Owner: "ana"}})
		testkit.Must(t, err)
	}
	add("one")
	if n := tasksOf(l); n != 0 {
		t.Errorf("%d tasks before the run", n)
	}
	l.Apply(events.Event{Data: events.TeamStarted{Members: []string{"lead", "ana"}}})
	l.Apply(events.Event{Member: "ana", Turn: 5, Data: events.TurnStarted{}})
	add("two")
	if n := tasksOf(l); n != 2 {
		t.Errorf("%d tasks in the run, want those of the store", n)
	}
	if at := l.Position("ana"); at != (Position{Turn: 5, InTurn: true}) {
		t.Errorf("ana is at %+v", at)
	}
	l.Apply(events.Event{Member: "ana", Turn: 5, Data: events.TextSaid{Text: "one\ntwo"}})
	l.Apply(events.Event{Member: "ana", Turn: 5, Helper: "h1", Data: events.TextSaid{Text: "three"}})
	if said := l.Said("ana"); said != "one\ntwo" {
		t.Errorf("ana said %q, want the whole text, without those of helpers", said)
	}
	if done := l.Done("ana"); done.Turns != 1 {
		t.Errorf("ana has begun %d turns in this run", done.Turns)
	}
	l.Read(func(s *State) {
		if len(s.Warnings) != 1 || s.Warnings[0].Seq < s.Run().First {
			t.Errorf("the early warning is not in the run: %+v", s.Warnings)
		}
	})
}

// tasksOf returns how many tasks the State of a team has.
func tasksOf(l *Live) (n int) {
	l.Read(func(s *State) { n = len(s.Tasks) })
	return n
}
