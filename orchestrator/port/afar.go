package port

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate"
)

// MovedError is the end of a life whose node is gone. The member goes on in another life.
type MovedError struct {
	Node string
	Lost bool // nobody knows whether the node still works, so that its tasks must become open
}

// Error describes what has happened.
func (e *MovedError) Error() string {
	if e.Lost {
		return "its host " + e.Node + " does not answer"
	}
	return "its host " + e.Node + " has left or begun anew"
}

// Seat is what an Afar needs of its member's seat.
type Seat struct {
	From
	On         []string // labels of the node
	Session    string
	Transcript string        // the file with the team's copy
	Reported   uint64        // the report that an earlier coordinator has journaled last
	Mode       func() string // permission mode with which the life begins
	Home       Home
	// Give pushes what the coordinator's copy has, unless that is last; see workcopies.Trees.Give.
	Give func(ctx context.Context, last worktree.Snapshot) (worktree.Snapshot, error)
	// Take makes the coordinator's copy what the node has pushed.
	Take    func(ctx context.Context, s worktree.Snapshot) error
	Used    func(Spent)                // what the member has used before this life, or in it if it goes on
	Adopted func(turn int) func()      // the life goes on; turn is 0 if no turn runs, and otherwise the slot of the turn is returned
	Changed func()                     // the member's State has changed
	Warn    func(text string, e error) // something about it went wrong, and it goes on
}

// Afar is the Mate of a member on another host.
type Afar struct {
	seat   Seat
	roster *Roster
	first  bool          // the member has had no life under this coordinator before
	seated chan struct{} // closed when the life has begun, or goes on

	mu      sync.Mutex
	node    string
	gone    <-chan struct{} // closed when the node is gone
	leave   func()          // gives the place there back
	state   State
	renew   *string
	copy    worktree.Snapshot // what both copies had last
	idle    chan Idle         // one, because the next Turn comes after it
	ended   chan Ended
	no      uint64
	begun   bool
	adopted bool       // the life began under an earlier coordinator
	release func()     // ends the turn's slot; nil: it has none
	copies  sync.Mutex // held while the coordinator's copy is taken or given
}

// Node returns the node on which the member is; empty: none yet.
func (a *Afar) Node() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.node
}

// Run implements Mate. It may be called again after teammate.ErrResting.
func (a *Afar) Run(ctx context.Context) error {
	err := a.run(ctx)
	if errors.Is(err, teammate.ErrResting) {
		return err
	}
	a.roster.remove(a)
	a.admitted(nil) // its turn may be over without it
	return err
}

// run is Run without what follows the end.
func (a *Afar) run(ctx context.Context) error {
	if !a.begun {
		if err := a.begin(ctx); err != nil {
			return err
		}
		a.begun = true
		if err := a.await(ctx); err != nil {
			return a.over(ctx, err)
		}
	}
	for {
		w, err := a.seat.Home.Inbox.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return a.end(ctx, EndNow)
		case errors.Is(err, io.EOF):
			return a.end(ctx, EndDone)
		case errors.Is(err, teammate.ErrContinued):
			return a.end(ctx, EndContinued)
		case err != nil:
			return err
		}
		if err := a.turn(ctx, w); err != nil {
			return a.over(ctx, err)
		}
		if err := a.await(ctx); err != nil {
			return a.over(ctx, err)
		}
	}
}

// begin finds a node and begins the life there.
func (a *Afar) begin(ctx context.Context) error {
	before, err := a.roster.hub.Sat(ctx, a.seat.Member)
	if err != nil {
		return err
	}
	for {
		node, gone, leave, err := a.roster.hub.Seat(ctx, a.seat.Member, a.seat.On)
		if err != nil {
			return err
		}
		a.mu.Lock()
		a.node, a.gone, a.leave, a.adopted = node, gone, leave, a.first && a.seat.Life > 1 && node == before
		a.mu.Unlock()
		err = a.takeSeat(ctx)
		if err == nil || !closed(gone) {
			return err
		}
		leave() // it had not begun there
	}
}

// takeSeat begins the life on its node, or goes on with the one that an earlier coordinator has begun there.
func (a *Afar) takeSeat(ctx context.Context) error {
	lines, err := linesOf(a.seat.Transcript)
	if err != nil {
		return err
	}
	o, now := &SeatOrder{Session: a.seat.Session, Mode: a.seat.Mode(), Lines: lines}, Seated{}
	goesOn := func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.adopted }
	if goesOn() {
		if err = a.order(ctx, Order{Adopt: o}, &now); errors.Is(err, ErrNoSeat) {
			a.mu.Lock()
			a.adopted = false
			a.mu.Unlock()
		}
	}
	if !goesOn() {
		if o.Copy, err = a.give(ctx); err == nil {
			err = a.order(ctx, Order{Seat: o}, &now)
		}
	}
	if err != nil {
		return err
	}
	a.seat.Used(now.Used)
	a.mu.Lock()
	a.no, a.state = now.Given, now.State
	a.mu.Unlock()
	if goesOn() {
		a.admitted(a.seat.Adopted(now.Turn))
	}
	close(a.seated)
	return nil
}

// closed reports whether a channel is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// turn gives the member its next work.
func (a *Afar) turn(ctx context.Context, w teammate.Work) error {
	copy, err := a.give(ctx)
	if err != nil {
		return err
	}
	if renew := a.takeRenew(); renew != nil {
		if err := a.order(ctx, Order{Renew: renew}, nil); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.no++
	no := a.no
	a.mu.Unlock()
	t := Turn{No: no, Work: w, Copy: copy}
	if in := a.seat.Home.Inbox; in.Rotates(w) {
		facts := in.Facts(ctx)
		t.Facts = &facts
	}
	return a.order(ctx, Order{Turn: &t}, nil)
}

// give pushes what the coordinator's copy has.
func (a *Afar) give(ctx context.Context) (worktree.Snapshot, error) {
	a.copies.Lock()
	defer a.copies.Unlock()
	s, err := a.seat.Give(ctx, a.copy)
	if err == nil {
		a.copy = s
	}
	return s, err
}

// take makes the coordinator's copy what the node has pushed.
func (a *Afar) take(ctx context.Context, s worktree.Snapshot) error {
	a.copies.Lock()
	defer a.copies.Unlock()
	if s == (worktree.Snapshot{}) || s == a.copy {
		return nil
	}
	err := a.seat.Take(ctx, s)
	if err == nil {
		a.copy = s
	}
	return err
}

// await waits until the member is idle.
func (a *Afar) await(ctx context.Context) error {
	a.mu.Lock()
	no, gone := a.no, a.gone
	a.mu.Unlock()
	for {
		select {
		case i := <-a.idle:
			if i.Done < no {
				continue
			}
			return a.take(ctx, i.Copy)
		case e := <-a.ended:
			if r := e.Rotated; r != nil {
				return &endedError{a.seat.Home.Inbox.Rotate(ctx, r.Handover, r.Work)}
			}
			return &endedError{e.Err()}
		case <-gone:
			return a.moved()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// endedError is the end of a life by the node.
type endedError struct{ err error }

// Error returns the text of the error.
func (e *endedError) Error() string { return fmt.Sprint(e.err) }

// over returns what Run returns after an error. The life ends if it has not.
func (a *Afar) over(ctx context.Context, err error) error {
	if ended, ok := errors.AsType[*endedError](err); ok {
		return ended.err
	}
	if ctx.Err() != nil {
		return a.end(ctx, EndNow)
	}
	a.mu.Lock()
	gone := a.gone
	a.mu.Unlock()
	if errors.Is(err, ErrNoSeat) || closed(gone) {
		return a.moved()
	}
	return err
}

// moved returns the end of a life whose node is gone.
func (a *Afar) moved() error {
	node := a.Node()
	return &MovedError{node, a.roster.lost(node)}
}

// endLimit bounds the time that the end of a life may take on its node.
const endLimit = 20 * time.Second

// end ends the life and waits until the node says so.
func (a *Afar) end(ctx context.Context, how End) error {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	wait := ctx
	if how == EndNow {
		wait = late
	}
	if err := a.order(wait, Order{End: how}, nil); err != nil && !errors.Is(err, ErrNoSeat) {
		a.seat.Warn("its life is not ended on "+a.Node(), err)
		return context.Cause(ctx)
	}
	a.mu.Lock()
	gone := a.gone
	a.mu.Unlock()
	select {
	case e := <-a.ended:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return e.Err()
	case <-gone:
		return cmp.Or(context.Cause(ctx), a.moved())
	case <-wait.Done():
		if how != EndNow {
			return a.end(ctx, EndNow)
		}
		return context.Cause(ctx)
	}
}

// order sends an order to the member's node.
func (a *Afar) order(ctx context.Context, o Order, out any) error {
	node := a.Node()
	if node == "" {
		return ErrNoSeat
	}
	o.From = a.seat.From
	in, err := texts.Marshal(o)
	if err != nil {
		return fmt.Errorf("an order for %s: %w", a.seat.Member, err)
	}
	answer, err := a.roster.hub.Order(ctx, node, a.seat.Member, methodOrder, in)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// Fire implements Mate.
func (a *Afar) Fire(ctx context.Context, in hooks.Payload) (out hooks.Outcome, err error) {
	data, err := texts.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("the input of %s: %w", in.Event(), err)
	}
	err = a.order(ctx, Order{Fire: &Fired{in.Event(), json.RawMessage(data), inbox.Completer(ctx)}}, &out)
	return out, err
}

// signalLimit bounds the time for which a signal is sent. A later one would meet another turn.
const signalLimit = 10 * time.Second

// Signal implements Mate.
func (a *Afar) Signal(s Signal) { a.send(Order{Signal: &s}) }

// send sends an order without waiting for the answer.
func (a *Afar) send(o Order) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), signalLimit)
		defer cancel()
		if err := a.order(ctx, o, nil); err != nil && !errors.Is(err, ErrNoSeat) {
			a.seat.Warn("it is not reached on "+a.Node(), err)
		}
	}()
}

// Renew implements Mate. The order goes with the next turn.
func (a *Afar) Renew(voice string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renew = &voice
}

// takeRenew returns what Renew was last called with, once.
func (a *Afar) takeRenew() *string {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.renew
	a.renew = nil
	return r
}

// SetMode implements Mate.
func (a *Afar) SetMode(mode string) error {
	if a.Node() != "" {
		a.send(Order{Mode: mode})
	}
	return nil
}

// State implements Mate.
func (a *Afar) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}
