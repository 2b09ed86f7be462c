// Package members tracks the members of a team: the lifecycle of each member in its seat,
// holds, restarts after failures, drafts, and which members make no progress. It also has
// the tools of their goroutines: Group, which may grow while its end is awaited, Loop, which
// other goroutines poke, and Clock, which tests can set.
//
// Each concern has a type of its own with its own lock: Life tracks a member between joining
// and leaving, Holds records who keeps members from beginning turns, Restarts counts restarts after
// failures, Watch finds members that make no progress, and Drafts has what models write while they
// answer. None of them acts on a member: the crew asks them and acts.
//
// Drafts are not part of any record. A draft is the end of a text that the journal does not have
// yet; it goes away when its line comes, when the answer fails, or with the turn. Members add to
// it and wait for nobody, and readers ask for the state when they can take it.
//
// The package makes no promise of compatibility to programs outside covey.
package members

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate"
)

// ErrLeaves is the cause with which a member's context ends when the member leaves the
// team.
var ErrLeaves = errors.New("the member leaves the team")

// Exit describes whether and how a member leaves its seat.
type Exit int

// The values of Exit.
const (
	Stays      Exit = iota
	Restarting      // its session continues in another seat
	Removed         // the spec no longer has it
)

// LastWork returns the error that Inbox.Next returns to a member that leaves its seat.
func (e Exit) LastWork() error {
	if e == Restarting {
		return teammate.ErrContinued
	}
	return io.EOF
}

// State is the state of a life at one moment.
type State struct {
	Begun   bool           // its session has begun
	Idle    bool           // it waits for work
	Gone    string         // why it takes no more turns; empty: it takes turns
	Leaving string         // why it is leaving the team; empty: it stays
	Halting string         // why it leaves after its turn; empty: it stays
	Exit    Exit           // whether it leaves its seat after its turn
	Nudged  map[string]int // plan.Seat.Nudged; never changed
}

// InTurn reports whether the member is in a turn.
func (s State) InTurn() bool { return s.Begun && !s.Idle }

// Life is one member's life in one seat. Any goroutine may call its methods. The zero
// value has not begun.
//
// An idle member has no goroutine: a stack would double its cost, and most members of a
// large team are idle. Its Run returns with teammate.ErrResting, and new work or the end
// resumes it in another goroutine.
type Life struct {
	mu      sync.Mutex
	now     State
	next    *teammate.Work // at most one, because only an idle member gets work; nil: none
	resume  func()         // nil until it has begun
	quit    context.CancelCauseFunc
	rest    time.Duration // how long it rests before it restarts
	noMore  bool          // no more work comes
	resting bool          // it has no goroutine; resume starts one
	ended   bool          // its last goroutine has ended, or none ever ran
	vacant  bool          // its seat is closed
	over    bool          // the member has left the seat
	left    chan struct{} // closed when over is set; nil until needed
}

// State returns the current state.
func (l *Life) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Bind sets the functions that end the member's context and that continue a resting
// member. Call it once, before the member's first goroutine runs.
func (l *Life) Bind(quit context.CancelCauseFunc, resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quit, l.resume = quit, resume
}

// Begin records that the member has begun its session. It reports whether this is the
// first time.
func (l *Life) Begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.now.Begun
	l.now.Begun = true
	return first
}

// Wait records that the member waits for work, unless it is to leave its seat and gets no
// more.
func (l *Life) Wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Idle = l.now.Exit == Stays
}

// Give gives work to a waiting member. A nudge is counted under its mark; work with an
// empty mark resets all counts, because it means that something happened.
func (l *Life) Give(w teammate.Work, mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	nudged := map[string]int(nil)
	if mark != "" {
		nudged = maps.Clone(l.now.Nudged) // others read the old map
		if nudged == nil {
			nudged = map[string]int{}
		}
		nudged[mark]++
	}
	l.now.Nudged, l.now.Idle = nudged, false
	l.next = &w // nothing else is there, because the member was idle
	l.wake()
}

// Take returns work, or the error that ends the member's life. It fails with
// teammate.ErrResting if there is neither.
func (l *Life) Take(ctx context.Context) (teammate.Work, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, err := l.available(ctx)
	if err == nil {
		l.next = nil
	}
	return w, err
}

// available is Take with mu held. Work that was given just before the member was to leave its
// seat is still returned.
func (l *Life) available(ctx context.Context) (teammate.Work, error) {
	switch {
	case ctx.Err() != nil:
		return teammate.Work{}, context.Cause(ctx)
	case l.now.Leaving != "":
		return teammate.Work{}, io.EOF
	case l.next != nil:
		return *l.next, nil
	case l.noMore:
		return teammate.Work{}, io.EOF
	case l.now.Exit != Stays:
		return teammate.Work{}, l.now.Exit.LastWork()
	}
	return teammate.Work{}, teammate.ErrResting
}

// Rest lets the member rest without a goroutine. It returns false if something came
// meanwhile; the goroutine must then continue.
func (l *Life) Rest(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.available(ctx)
	l.resting = errors.Is(err, teammate.ErrResting)
	return l.resting
}

// wake resumes a member that rests. mu must be held.
func (l *Life) wake() {
	if l.resting {
		l.resting = false
		l.resume()
	}
}

// EndWork tells the member that no more work comes. A running turn goes on to its end.
func (l *Life) EndWork() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noMore = true
	l.wake()
}

// LeaveSeat makes the member leave its seat: at once if it waits for work, otherwise after
// its turn. It gets no more work there.
func (l *Life) LeaveSeat(how Exit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.relieve(how)
}

func (l *Life) relieve(how Exit) {
	before := l.now.Exit
	l.now.Exit = how
	if before == Stays {
		l.now.Idle = false
		l.wake()
	}
}

// Restart makes the member leave its seat as LeaveSeat does, and restart after a rest. A
// member that is no longer in the spec does not restart.
func (l *Life) Restart(rest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = rest
	if l.now.Exit != Removed {
		l.relieve(Restarting)
	}
}

// RestsFor returns how long the member rests before it restarts.
func (l *Life) RestsFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rest
}

// Halt makes the member leave after its turn.
func (l *Life) Halt(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Halting = reason
}

// Leave makes the member leave the team after its call or turn, at once if it waits for
// work. left is closed when it has left. underway is false if the member was asked
// before, in which case the first reason stands, or has not begun: then it leaves when it
// looks for work.
func (l *Life) Leave(reason string) (left <-chan struct{}, underway bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.now.Leaving == ""
	if first {
		l.now.Leaving, l.now.Halting = reason, reason
	}
	l.wake()
	return l.untilLeft(), first && l.resume != nil
}

// Kill ends the member's context with ErrLeaves.
func (l *Life) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quit != nil {
		l.quit(ErrLeaves)
		l.wake()
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

// MarkLeft records that the member has left its seat, for any reason.
func (l *Life) MarkLeft() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.left != nil {
		close(l.left)
	}
}

// Retire sets why the member takes no more turns in this run.
func (l *Life) Retire(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Gone, l.now.Idle = reason, true
}

// Exclude sets why the member takes no more turns and never runs in this seat again. It
// keeps the seat.
func (l *Life) Exclude(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Gone, l.now.Idle, l.now.Exit, l.ended = reason, true, Stays, true
}

// End records that the member's last goroutine has ended.
func (l *Life) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// Vacate records that the member's seat is closed.
func (l *Life) Vacate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vacant = true
}

// Free reports whether the seat may be given to the member's next life, or removed.
func (l *Life) Free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.Exit != Stays && (l.vacant || l.now.Gone != "" && l.ended)
}
