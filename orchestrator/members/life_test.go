package members

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestOffer: what a member gets that looks for work, if several things have come.
func TestOffer(t *testing.T) {
	work := &teammate.Work{Cause: events.ByTask}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		life *Life
		ctx  context.Context
		want error
	}{
		"nothing":                            {&Life{}, t.Context(), teammate.ErrResting},
		"work":                               {&Life{next: work}, t.Context(), nil},
		"work, then relieved":                {&Life{next: work, now: State{Exit: Restarting}}, t.Context(), nil},
		"work, and the team is at its end":   {&Life{next: work, noMore: true}, t.Context(), nil},
		"relieved":                           {&Life{now: State{Exit: Removed}}, t.Context(), io.EOF},
		"relieved, to restart":               {&Life{now: State{Exit: Restarting}}, t.Context(), teammate.ErrContinued},
		"the team is at its end":             {&Life{noMore: true}, t.Context(), io.EOF},
		"it leaves":                          {&Life{now: State{Leaving: "done"}}, t.Context(), io.EOF},
		"it leaves, and has been given work": {&Life{now: State{Leaving: "done"}, next: work}, t.Context(), io.EOF},
		"the context is over":                {&Life{next: work, noMore: true}, over, context.Canceled},
	} {
		l := test.life
		had := l.next != nil
		if rests := l.Rest(test.ctx); rests != errors.Is(test.want, teammate.ErrResting) {
			t.Errorf("%s: it rests: %v", name, rests)
		}
		w, err := l.Take(test.ctx)
		if !errors.Is(err, test.want) || (err == nil) != (w.Cause == events.ByTask) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		if had && (err == nil) != (l.next == nil) {
			t.Errorf("%s: work is lost, or is there twice", name)
		}
	}
}

// TestNoWorkIsOverslept: a member that is about to rest still gets what comes just then.
func TestNoWorkIsOverslept(t *testing.T) {
	l := &Life{resting: true}
	taken := make(chan string)
	var members sync.WaitGroup
	l.Bind(func(error) {}, func() {
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
	l.EndWork()
	if _, open := <-taken; open {
		t.Error("there was work after the end")
	}
	members.Wait()
}

// TestLeft: a waiter learns that a member has left, whether it waits before or after.
func TestLeft(t *testing.T) {
	var l Life
	early := l.Left()
	select {
	case <-early:
		t.Fatal("it has not left")
	default:
	}
	l.MarkLeft()
	<-early
	<-l.Left()
	var late Life
	late.MarkLeft()
	<-late.Left()
}

// TestLeave: the first reason counts, a member that has not begun leaves when it looks
// for work, and a resting one leaves at once.
func TestLeave(t *testing.T) {
	var early Life
	if _, underway := early.Leave("first"); underway {
		t.Error("a member that has not begun is in a turn")
	}
	if _, err := early.Take(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("it was given %v", err)
	}
	l, resumed := &Life{}, 0
	l.Bind(func(error) {}, func() { resumed++ })
	if !l.Rest(t.Context()) {
		t.Fatal("it does not rest")
	}
	_, underway := l.Leave("first")
	_, again := l.Leave("second")
	if now := l.State(); !underway || again || resumed != 1 || now.Leaving != "first" || now.Halting != "first" {
		t.Errorf("%v, %v, resumed %d times, %+v", underway, again, resumed, now)
	}
}

// TestExit: a seat is free once its member is to leave and the seat is closed; a member
// that is no longer in the spec does not restart.
func TestExit(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*Life)
		free bool
		exit Exit
	}{
		"it stays":                       {func(l *Life) { l.Vacate() }, false, Stays},
		"relieved, but still there":      {func(l *Life) { l.LeaveSeat(Restarting) }, false, Restarting},
		"relieved and vacant":            {func(l *Life) { l.LeaveSeat(Restarting); l.Vacate() }, true, Restarting},
		"gone, its goroutine runs":       {func(l *Life) { l.Retire("x"); l.LeaveSeat(Removed) }, false, Removed},
		"gone, its goroutine has ended":  {func(l *Life) { l.Retire("x"); l.End(); l.LeaveSeat(Removed) }, true, Removed},
		"failed, and no longer in spec":  {func(l *Life) { l.LeaveSeat(Removed); l.Restart(time.Second); l.Vacate() }, true, Removed},
		"failed":                         {func(l *Life) { l.Restart(time.Second) }, false, Restarting},
		"kept out, though to be removed": {func(l *Life) { l.LeaveSeat(Restarting); l.Vacate(); l.Exclude("x") }, false, Stays},
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
