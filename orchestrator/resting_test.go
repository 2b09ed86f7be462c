package orchestrator

import (
	"context"
	"errors"
	"io"
	"strconv"
	"testing"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestIdleMembersCostLittle: members at rest have no goroutine, and a few kilobytes each.
// The goal is 5 KiB; more is allowed here, because other tests' garbage is counted too.
func TestIdleMembersCostLittle(t *testing.T) {
	const members = 200
	one, many := restingTeam(t, 1), restingTeam(t, members)
	if more := many.goroutines - one.goroutines; more > members/20 {
		t.Errorf("%d members more have %d goroutines more", members-1, more)
	}
	if each := (many.bytes - one.bytes) / (members - 1); each > 8<<10 {
		t.Errorf("an idle member costs %d bytes", each)
	}
}

// TestOffer: what a member that looks for work is given, where several things have come.
func TestOffer(t *testing.T) {
	work := &teammate.Work{Cause: agent.ByTask}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		seat *seat
		ctx  context.Context
		want error
	}{
		"nothing":                            {&seat{}, t.Context(), teammate.ErrResting},
		"work":                               {&seat{next: work}, t.Context(), nil},
		"work, then relieved":                {&seat{next: work, relieved: beginsAnew}, t.Context(), nil},
		"work, and the team is at its end":   {&seat{next: work, home: true}, t.Context(), nil},
		"relieved":                           {&seat{relieved: leavesForGood}, t.Context(), io.EOF},
		"relieved, to begin anew":            {&seat{relieved: beginsAnew}, t.Context(), teammate.ErrAnew},
		"the team is at its end":             {&seat{home: true}, t.Context(), io.EOF},
		"it leaves":                          {&seat{leaving: "done"}, t.Context(), io.EOF},
		"it leaves, and has been given work": {&seat{leaving: "done", next: work}, t.Context(), io.EOF},
		"the context is over":                {&seat{next: work, home: true}, over, context.Canceled},
	} {
		s := test.seat
		s.crew = &crew{}
		if rests := s.rests(test.ctx); rests != errors.Is(test.want, teammate.ErrResting) {
			t.Errorf("%s: it rests: %v", name, rests)
		}
		w, err := s.take(test.ctx)
		if !errors.Is(err, test.want) || (err == nil) != (w.Cause == agent.ByTask) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		if (err == nil) != (s.next == nil) && test.seat.next != nil {
			t.Errorf("%s: work is lost, or is there twice", name)
		}
	}
}

// TestNoWorkIsOverslept: whatever comes just while a member lies down to rest is seen to.
func TestNoWorkIsOverslept(t *testing.T) {
	c := &crew{}
	s := &seat{crew: c, resting: true}
	taken := make(chan string)
	s.resume = func() {
		c.members.Go(func() {
			for {
				w, err := s.take(t.Context())
				switch {
				case err == nil:
					taken <- w.Inputs[0].Text
				case errors.Is(err, io.EOF):
					close(taken)
					return
				case s.rests(t.Context()):
					return
				}
			}
		})
	}
	for i := range 20_000 {
		c.mu.Lock()
		s.next = &teammate.Work{Inputs: []agent.Input{{Text: strconv.Itoa(i)}}}
		s.rouse()
		c.mu.Unlock()
		if got := <-taken; got != strconv.Itoa(i) {
			t.Fatalf("work %d came as %q", i, got)
		}
	}
	c.sendHome(s)
	if _, open := <-taken; open {
		t.Error("there was work after the end")
	}
	c.members.Wait()
}

// TestUntilLeft: who waits for a member's leaving hears of it, early or late.
func TestUntilLeft(t *testing.T) {
	s := &seat{crew: &crew{}}
	early := s.untilLeft()
	select {
	case <-early:
		t.Fatal("it has not left")
	default:
	}
	s.parts()
	<-early
	late := &seat{crew: &crew{}}
	late.parts()
	<-late.untilLeft()
}
