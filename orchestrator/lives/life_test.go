package lives

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestOffer: what a member that looks for work is given, where several things have come.
func TestOffer(t *testing.T) {
	work := &teammate.Work{Cause: agent.ByTask}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		life *Life
		ctx  context.Context
		want error
	}{
		"nothing":                            {&Life{}, t.Context(), teammate.ErrResting},
		"work":                               {&Life{next: work}, t.Context(), nil},
		"work, then relieved":                {&Life{next: work, now: State{Exit: Anew}}, t.Context(), nil},
		"work, and the team is at its end":   {&Life{next: work, home: true}, t.Context(), nil},
		"relieved":                           {&Life{now: State{Exit: ForGood}}, t.Context(), io.EOF},
		"relieved, to begin anew":            {&Life{now: State{Exit: Anew}}, t.Context(), teammate.ErrContinued},
		"the team is at its end":             {&Life{home: true}, t.Context(), io.EOF},
		"it leaves":                          {&Life{now: State{Leaving: "done"}}, t.Context(), io.EOF},
		"it leaves, and has been given work": {&Life{now: State{Leaving: "done"}, next: work}, t.Context(), io.EOF},
		"the context is over":                {&Life{next: work, home: true}, over, context.Canceled},
	} {
		l := test.life
		had := l.next != nil
		if rests := l.Rest(test.ctx); rests != errors.Is(test.want, teammate.ErrResting) {
			t.Errorf("%s: it rests: %v", name, rests)
		}
		w, err := l.Take(test.ctx)
		if !errors.Is(err, test.want) || (err == nil) != (w.Cause == agent.ByTask) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		if had && (err == nil) != (l.next == nil) {
			t.Errorf("%s: work is lost, or is there twice", name)
		}
	}
}

// TestNoWorkIsOverslept: whatever comes just while a member lies down to rest is seen to.
func TestNoWorkIsOverslept(t *testing.T) {
	l := &Life{resting: true}
	taken := make(chan string)
	var members sync.WaitGroup
	l.Own(func(error) {}, func() {
		members.Go(func() {
			for {
				w, err := l.Take(t.Context())
				switch {
				case err == nil:
					taken <- w.Inputs[0].Text
				case errors.Is(err, io.EOF):
					close(taken)
					return
				case l.Rest(t.Context()):
					return
				}
			}
		})
	})
	for i := range 20_000 {
		l.Give(teammate.Work{Inputs: []agent.Input{{Text: strconv.Itoa(i)}}}, "")
		if got := <-taken; got != strconv.Itoa(i) {
			t.Fatalf("work %d came as %q", i, got)
		}
	}
	l.SendHome()
	if _, open := <-taken; open {
		t.Error("there was work after the end")
	}
	members.Wait()
}

// TestLeft: who waits for a member to leave hears of it, early or late.
func TestLeft(t *testing.T) {
	var l Life
	early := l.Left()
	select {
	case <-early:
		t.Fatal("it has not left")
	default:
	}
	l.Part()
	<-early
	<-l.Left()
	var late Life
	late.Part()
	<-late.Left()
}

// TestLeave: the first reason counts, a member that has not begun leaves when it looks for
// work, and one that rests leaves at once.
func TestLeave(t *testing.T) {
	var early Life
	if _, underway := early.Leave("first"); underway {
		t.Error("a member that has not begun is in a turn")
	}
	if _, err := early.Take(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("it was given %v", err)
	}
	l, resumed := &Life{}, 0
	l.Own(func(error) {}, func() { resumed++ })
	if !l.Rest(t.Context()) {
		t.Fatal("it does not rest")
	}
	_, underway := l.Leave("first")
	_, again := l.Leave("second")
	if now := l.State(); !underway || again || resumed != 1 || now.Leaving != "first" || now.Halting != "first" {
		t.Errorf("%v, %v, resumed %d times, %+v", underway, again, resumed, now)
	}
}

// TestExit: a seat is free once its member is to leave it and nothing of the member is left
// in it; a member that the spec no longer has does not begin anew.
func TestExit(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*Life)
		free bool
		exit Exit
	}{
		"it stays":                       {func(l *Life) { l.Vacate() }, false, Stays},
		"relieved, but still there":      {func(l *Life) { l.Relieve(Anew) }, false, Anew},
		"relieved and vacant":            {func(l *Life) { l.Relieve(Anew); l.Vacate() }, true, Anew},
		"gone, its goroutine runs":       {func(l *Life) { l.Retire("x"); l.Relieve(ForGood) }, false, ForGood},
		"gone, its goroutine has ended":  {func(l *Life) { l.Retire("x"); l.End(); l.Relieve(ForGood) }, true, ForGood},
		"failed, and no longer in spec":  {func(l *Life) { l.Relieve(ForGood); l.BeginAnew(time.Second); l.Vacate() }, true, ForGood},
		"failed":                         {func(l *Life) { l.BeginAnew(time.Second) }, false, Anew},
		"kept out, though to be removed": {func(l *Life) { l.Relieve(Anew); l.Vacate(); l.KeepOut("x") }, false, Stays},
	} {
		l := &Life{}
		l.Wait()
		test.do(l)
		l.Wait()
		if now := l.State(); l.Free() != test.free || now.Exit != test.exit || now.Idle != (now.Exit == Stays) {
			t.Errorf("%s: free %v, %+v", name, l.Free(), now)
		}
	}
}
