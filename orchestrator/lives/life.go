// Package lives knows how the members of a team fare: when a member's life in its seat
// begins, rests, is held, leaves and has left, how often one that fails may begin anew, what
// each is doing, and which of them neither work nor rest.
//
// The package makes no promise of compatibility to programs outside covey.
package lives

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate"
)

// ErrLeaves is the cause with which a member's context ends when it leaves the team.
var ErrLeaves = errors.New("the member leaves the team")

// Exit says whether a member is to leave its seat.
type Exit int

// How a member leaves its seat.
const (
	Stays   Exit = iota
	Anew         // its session goes on in another seat
	ForGood      // the spec no longer has it
)

// LastWork is what the Inbox tells a member that leaves its seat.
func (e Exit) LastWork() error {
	if e == Anew {
		return teammate.ErrContinued
	}
	return io.EOF
}

// State is what others know of a life at one moment.
type State struct {
	Begun   bool           // its session has
	Idle    bool           // it waits for work
	Gone    string         // why it takes no more turns; empty: it does
	Leaving string         // why it was asked to end, and does; empty: it was not
	Halting string         // why it leaves when its turn is over; empty: it stays
	Exit    Exit           // whether it leaves its seat when its turn is over
	Nudged  map[string]int // plan.Seat.Nudged; never changed
}

// InTurn reports whether the member is in a turn.
func (s State) InTurn() bool { return s.Begun && !s.Idle }

// Life is one member's life in one seat. Any goroutine may call its methods. The zero
// value has not begun.
//
// A member that has nothing to do has no goroutine: its stack would be half of what an
// idle member costs, and most members of a large team are idle. Its Run returns with
// teammate.ErrResting, and whatever comes for it, work or the end, resumes it in another
// goroutine.
type Life struct {
	mu      sync.Mutex
	now     State
	next    *teammate.Work // at most one waits, because only an idle member is given any; nil: none
	home    bool           // there will be no more work
	resting bool           // it has no goroutine: resume gives it one
	resume  func()         // nil until it has begun
	quit    context.CancelCauseFunc
	rest    time.Duration // how long it rests before it begins anew
	ended   bool          // its last goroutine has ended, or there never was one
	vacant  bool          // nothing of it is left in its seat
	over    bool          // the member's part of it is over
	left    chan struct{} // closed when it is over; nil until somebody waits for that
}

// State returns the state of the life now.
func (l *Life) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Own gives the life its context's end, and the function that runs the member on once it
// has rested. It is called once, before the member's first goroutine runs.
func (l *Life) Own(quit context.CancelCauseFunc, resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quit, l.resume = quit, resume
}

// Begin notes that the member has begun its session. It reports whether this is the first
// time.
func (l *Life) Begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.now.Begun
	l.now.Begun = true
	return first
}

// Wait notes that the member waits for work. One that is to leave its seat does not: it
// gets no more.
func (l *Life) Wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Idle = l.now.Exit == Stays
}

// Give gives work to a member that waits for it. A nudge is counted under its mark; work
// with an empty mark starts all counts again, because it means that something happened.
func (l *Life) Give(w teammate.Work, mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	nudged := map[string]int(nil)
	if mark != "" {
		nudged = maps.Clone(l.now.Nudged) // others hold the old one
		if nudged == nil {
			nudged = map[string]int{}
		}
		nudged[mark]++
	}
	l.now.Nudged, l.now.Idle = nudged, false
	l.next = &w // nothing else waits there: the member was idle
	l.rouse()
}

// Take returns what there is for the member: work, or the error that ends its life. It
// fails with teammate.ErrResting when there is neither.
func (l *Life) Take(ctx context.Context) (teammate.Work, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, err := l.offer(ctx)
	if err == nil {
		l.next = nil
	}
	return w, err
}

// offer is what Take returns; mu is held. Work that the member was given just before it
// was to leave its seat is still its own.
func (l *Life) offer(ctx context.Context) (teammate.Work, error) {
	switch {
	case ctx.Err() != nil:
		return teammate.Work{}, context.Cause(ctx)
	case l.now.Leaving != "":
		return teammate.Work{}, io.EOF
	case l.next != nil:
		return *l.next, nil
	case l.home:
		return teammate.Work{}, io.EOF
	case l.now.Exit != Stays:
		return teammate.Work{}, l.now.Exit.LastWork()
	}
	return teammate.Work{}, teammate.ErrResting
}

// Rest lets the member rest without a goroutine. It returns false if something has come
// for the member since it looked: then its goroutine has to go on.
func (l *Life) Rest(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.offer(ctx)
	l.resting = errors.Is(err, teammate.ErrResting)
	return l.resting
}

// rouse has a member that rests look at what there is for it. A member that does not rest
// looks by itself. mu is held.
func (l *Life) rouse() {
	if l.resting {
		l.resting = false
		l.resume()
	}
}

// SendHome tells the member that there will be no more work. A turn that it is in goes on
// to its end.
func (l *Life) SendHome() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.home = true
	l.rouse()
}

// Relieve has the member leave its seat: at once if it waits for work, otherwise when its
// turn is over. It gets no more work there.
func (l *Life) Relieve(how Exit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.relieve(how)
}

func (l *Life) relieve(how Exit) {
	before := l.now.Exit
	l.now.Exit = how
	if before == Stays {
		l.now.Idle = false
		l.rouse()
	}
}

// BeginAnew has the member leave its seat as Relieve does, and begin anew after a rest. A
// member that the spec no longer has leaves for good all the same.
func (l *Life) BeginAnew(rest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = rest
	if l.now.Exit != ForGood {
		l.relieve(Anew)
	}
}

// RestsFor returns how long the member rests before it begins anew.
func (l *Life) RestsFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rest
}

// Halt has the member leave when its turn is over.
func (l *Life) Halt(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Halting = reason
}

// Leave has the member leave the team when its call or its turn is over; at once if it
// waits for work. left is closed when it has left. underway is false if it was asked to
// leave before, for which the first reason stands, and if it has not begun: then it leaves
// as soon as it looks for work.
func (l *Life) Leave(reason string) (left <-chan struct{}, underway bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.now.Leaving == ""
	if first {
		l.now.Leaving, l.now.Halting = reason, reason
	}
	l.rouse()
	return l.untilLeft(), first && l.resume != nil
}

// Kill ends the member's context with ErrLeaves.
func (l *Life) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quit != nil {
		l.quit(ErrLeaves)
		l.rouse()
	}
}

// Left returns a channel that is closed when the member has left its seat.
func (l *Life) Left() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.untilLeft()
}

func (l *Life) untilLeft() <-chan struct{} {
	if l.left == nil {
		l.left = make(chan struct{})
		if l.over {
			close(l.left)
		}
	}
	return l.left
}

// Part notes that the member has left its seat, by whatever way.
func (l *Life) Part() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.left != nil {
		close(l.left)
	}
}

// Retire notes why the member takes no more turns in this run.
func (l *Life) Retire(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Gone, l.now.Idle = reason, true
}

// KeepOut notes why the member takes no more turns and never runs in this seat again. It
// keeps the seat.
func (l *Life) KeepOut(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Gone, l.now.Idle, l.now.Exit, l.ended = reason, true, Stays, true
}

// End notes that the member's last goroutine has ended.
func (l *Life) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// Vacate notes that nothing of the member is left in its seat.
func (l *Life) Vacate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vacant = true
}

// Free reports whether the seat may be given to the member's next life, or taken away.
func (l *Life) Free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.Exit != Stays && (l.vacant || l.now.Gone != "" && l.ended)
}
