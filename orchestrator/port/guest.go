package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Copies are the working copies of a node; see workcopies.Trees.
type Copies interface {
	Give(ctx context.Context, member string, last worktree.Snapshot) (worktree.Snapshot, error)
	Take(ctx context.Context, member string, s worktree.Snapshot, files bool) error
	Resume(ctx context.Context, member string, s worktree.Snapshot) (rescued string, err error)
}

// Guest is one life of a member on a node. It gives the member its work, and is its way to its team.
type Guest struct {
	From
	order  SeatOrder
	link   Link
	copies Copies
	turns  chan Turn
	ends   chan End
	stop   context.CancelCauseFunc
	drain  <-chan struct{} // closed when the life is to end after its turn
	over   chan struct{}   // closed when the life has ended

	mu   sync.Mutex
	copy worktree.Snapshot // what both copies had last
	last uint64            // number of the last Turn that was given
}

// newGuest returns a life that has not begun. stop ends it in the middle of its turn.
func (n *Node) newGuest(from From, order SeatOrder, stop context.CancelCauseFunc) *Guest {
	return &Guest{From: from, order: order, link: n.deps.Link, copies: n.deps.Copies, stop: stop, drain: n.drain, copy: order.Copy,
		turns: make(chan Turn, 1), ends: make(chan End, 1), over: make(chan struct{})}
}

// Order returns what the life began with.
func (g *Guest) Order() SeatOrder { return g.order }

// TakeCopy brings the working copy to what the coordinator's has, before the life begins.
func (g *Guest) TakeCopy(ctx context.Context) error {
	rescued, err := g.copies.Resume(ctx, g.Member, g.order.Copy)
	if err != nil || rescued == "" {
		return err
	}
	return g.ReportEvent(ctx, events.Event{Member: g.Member, Data: events.Warning{
		Text: "it has worked elsewhere meanwhile; what was left on this host is " + rescued + " of the repository there"}})
}

// take brings the working copy to what the coordinator's has.
func (g *Guest) take(ctx context.Context, s worktree.Snapshot) error {
	if s.Head == "" {
		return nil
	}
	g.mu.Lock()
	g.copy = s
	g.mu.Unlock()
	return g.copies.Take(ctx, g.Member, s, true)
}

// give pushes what the working copy has.
func (g *Guest) give(ctx context.Context) (worktree.Snapshot, error) {
	g.mu.Lock()
	last := g.copy
	g.mu.Unlock()
	s, err := g.copies.Give(ctx, g.Member, last)
	if err == nil {
		g.mu.Lock()
		g.copy = s
		g.mu.Unlock()
	}
	return s, err
}

// follow checks out what the team has made of a copy that was given, while the member works on.
func (g *Guest) follow(ctx context.Context, given, made worktree.Snapshot) error {
	if made.Head == "" || made.Head == given.Head {
		return nil
	}
	g.mu.Lock()
	g.copy = made
	g.mu.Unlock()
	return g.copies.Take(ctx, g.Member, made, false)
}

// ask sends a request.
func (g *Guest) ask(ctx context.Context, a Ask) (out Answered, err error) {
	a.From = g.From
	in, err := texts.Marshal(a)
	if err != nil {
		return out, fmt.Errorf("ask the team: %w", err)
	}
	answer, err := g.link.Ask(ctx, g.Member, methodAsk, in)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("the team's answer: %w", err)
	}
	return out, g.follow(ctx, a.copy(), out.Copy)
}

// Report implements Home.
func (g *Guest) Report(ctx context.Context, r Report) error {
	in, err := texts.Marshal(Reported{g.From, r})
	if err != nil {
		return fmt.Errorf("report to the team: %w", err)
	}
	return g.link.Report(ctx, g.Member, in)
}

// ReportEvent reports an event.
func (g *Guest) ReportEvent(ctx context.Context, e events.Event) error {
	l, err := e.Line()
	if err != nil {
		return err
	}
	return g.Report(ctx, Report{Event: &l})
}

// Next implements teammate.Inbox.
func (g *Guest) Next(ctx context.Context) (teammate.Work, error) {
	copy, err := g.give(ctx)
	if err != nil {
		return teammate.Work{}, err
	}
	g.mu.Lock()
	done := g.last
	g.mu.Unlock()
	if err := g.Report(ctx, Report{Idle: &Idle{done, copy}}); err != nil {
		return teammate.Work{}, err
	}
	if closed(g.drain) {
		g.stop(errDrained)
		return teammate.Work{}, errDrained
	}
	select {
	case <-g.drain:
		g.stop(errDrained)
		return teammate.Work{}, errDrained
	case t := <-g.turns:
		if t.Copy != copy {
			err = g.take(ctx, t.Copy)
		}
		g.mu.Lock()
		g.last = t.No
		g.mu.Unlock()
		return t.Work, err
	case e := <-g.ends:
		if e == EndContinued {
			return teammate.Work{}, teammate.ErrContinued
		}
		return teammate.Work{}, io.EOF
	case <-ctx.Done():
		return teammate.Work{}, context.Cause(ctx)
	}
}

// Waiting implements Home and teammate.Inbox.
func (g *Guest) Waiting(ctx context.Context) ([]agent.Input, error) {
	out, err := g.ask(ctx, Ask{Waiting: true})
	return out.Waiting, err
}

// Taken implements Home and teammate.Inbox.
func (g *Guest) Taken(ctx context.Context, ids []string) error {
	_, err := g.ask(ctx, Ask{Taken: &ids})
	return err
}

// Admit implements teammate.Admitter.
func (g *Guest) Admit(ctx context.Context) (release func(), err error) {
	begins, ends := true, false
	if _, err := g.ask(ctx, Ask{Admit: &begins}); err != nil {
		return nil, err
	}
	return func() {
		// An error means that the life ends, and then the coordinator frees the slot.
		_, _ = g.ask(ctx, Ask{Admit: &ends})
	}, nil
}

// Left implements Home.
func (g *Guest) Left(ctx context.Context, helper bool) error {
	_, err := g.ask(ctx, Ask{Left: &helper})
	return err
}

// Standing implements Home.
func (g *Guest) Standing(ctx context.Context) (Standing, error) {
	out, err := g.ask(ctx, Ask{Standing: true})
	return out.Standing, err
}

// InProgress implements teammate.TaskLister.
func (g *Guest) InProgress(ctx context.Context, _ string) ([]tasks.Task, error) {
	s, err := g.Standing(ctx)
	return s.InProgress, err
}

// Passed implements teammate.TaskCloser.
func (g *Guest) Passed(ctx context.Context, list []tasks.Task) error {
	copy, err := g.give(ctx)
	if err == nil {
		_, err = g.ask(ctx, Ask{Passed: &Passed{list, copy}})
	}
	return err
}

// Tool calls a team tool. gated is set for one that judges the member's work.
func (g *Guest) Tool(ctx context.Context, c ToolCall, gated bool) agent.ToolResult {
	var err error
	if gated {
		c.Copy, err = g.give(ctx)
	}
	var out Answered
	if err == nil {
		out, err = g.ask(ctx, Ask{Tool: &c})
	}
	if err != nil {
		return agent.Failed("the team cannot be asked: %v; try again", err)
	}
	return out.Tool
}

// Notice implements teammate.Options.PostNotice.
func (g *Guest) Notice(ctx context.Context, id, text string) error {
	_, err := g.ask(ctx, Ask{Notice: &Notice{id, text}})
	return err
}

// Asker returns who decides calls of the member. ctx is that of its life.
func (g *Guest) Asker(ctx context.Context) teammate.Asker {
	return guestAsker{g, func() bool {
		s, err := g.Standing(ctx)
		return err == nil && s.Present
	}}
}

// guestAsker is the Asker of a Guest.
type guestAsker struct {
	*Guest
	present func() bool
}

// Present reports whether somebody can be asked.
func (a guestAsker) Present() bool { return a.present() }

// Ask asks.
func (a guestAsker) Ask(ctx context.Context, q teammate.Question) teammate.Answer {
	out, _ := a.ask(ctx, Ask{Question: &Question{Question: q}}) // without an answer the call is denied
	return out.Answer.Answer
}

// Unbegun implements agent.Reminder.
func (a guestAsker) Unbegun(ctx context.Context, callID string) bool {
	q := Question{Question: teammate.Question{Call: agent.ToolCall{ID: callID}}, Unbegun: true}
	out, err := a.ask(ctx, Ask{Question: &q})
	return err == nil && out.Answer.Unbegun
}

// Node hosts members of a team that another host leads.
type Node struct {
	deps  NodeDeps
	drain chan struct{} // closed when no more turns begin

	mu     sync.Mutex
	guests map[string]*Guest
	mates  map[string]Mate
	all    sync.WaitGroup
}

// NodeDeps are the dependencies of a Node.
type NodeDeps struct {
	Link   Link
	Copies Copies
	// Seat makes the seat of a guest, and returns its Mate and a function that closes it.
	Seat func(ctx context.Context, g *Guest) (Mate, func(), error)
	Warn func(format string, args ...any)
}

// NewNode returns a Node without members.
func NewNode(deps NodeDeps) *Node {
	return &Node{deps: deps, drain: make(chan struct{}), guests: map[string]*Guest{}, mates: map[string]Mate{}}
}

// Wait waits until no life runs any more.
func (n *Node) Wait() { n.all.Wait() }

// Drain ends each life once its turn has ended, or in the middle of a turn that takes longer than grace,
// and begins no more. The members go on elsewhere with what they have given. It returns when no life runs.
func (n *Node) Drain(grace time.Duration) {
	n.mu.Lock()
	close(n.drain)
	n.mu.Unlock()
	late := time.AfterFunc(grace, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, g := range n.guests {
			g.stop(errDrained)
		}
	})
	defer late.Stop()
	n.Wait()
}

// errDrained is the cause of the end of a life whose node takes no more turns.
var errDrained = errors.New("the node drains")

// Order carries out an order of the coordinator. life is the context of the members.
func (n *Node) Order(ctx, life context.Context, in json.RawMessage) (json.RawMessage, error) {
	var o Order
	if err := json.Unmarshal(in, &o); err != nil {
		return nil, fmt.Errorf("an order cannot be read: %w", err)
	}
	if o.Seat != nil {
		return nil, n.seat(ctx, life, o.From, *o.Seat)
	}
	n.mu.Lock()
	g, mate := n.guests[o.Member], n.mates[o.Member]
	n.mu.Unlock()
	if g == nil || g.Life != o.Life || mate == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoSeat, o.Member)
	}
	switch {
	case o.Turn != nil:
		g.begin(*o.Turn)
	case o.End == EndNow:
		g.stop(errEnded)
	case o.End != "":
		select {
		case g.ends <- o.End:
		default:
		}
	case o.Fire != nil:
		return fire(ctx, mate, *o.Fire)
	case o.Signal != nil:
		mate.Signal(*o.Signal)
	case o.Renew != nil:
		mate.Renew(*o.Renew)
	case o.Mode != "":
		return nil, mate.SetMode(o.Mode)
	}
	return nil, nil
}

// errEnded is the cause of the end of a life that the coordinator wants at once.
var errEnded = errors.New("the team has ended it")

// begin gives the member work, once.
func (g *Guest) begin(t Turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.No <= g.last || len(g.turns) > 0 {
		return // it has it
	}
	g.turns <- t
}

// fire runs the hooks of an event.
func fire(ctx context.Context, mate Mate, f Fired) (json.RawMessage, error) {
	fields, err := texts.Fields(f.Input)
	if err != nil {
		return nil, fmt.Errorf("the input of %s: %w", f.Event, err)
	}
	out, err := mate.Fire(ctx, hooks.RawPayload{Name: f.Event, Fields: fields})
	if err != nil {
		return nil, err
	}
	for i := range out.Results {
		out.Results[i].Wait = nil // its question has been asked
	}
	return texts.Marshal(out)
}

// seat begins a life, and ends the member's earlier one. The same order comes again if its answer is lost.
func (n *Node) seat(ctx, life context.Context, from From, o SeatOrder) error {
	n.mu.Lock()
	if closed(n.drain) {
		n.mu.Unlock()
		<-ctx.Done() // the coordinator chooses another node when this one has said goodbye
		return context.Cause(ctx)
	}
	n.all.Add(1) // while the life is being made, too
	defer n.all.Done()
	was := n.guests[from.Member]
	n.mu.Unlock()
	if was != nil {
		if was.Life == from.Life {
			return nil
		}
		if was.Life > from.Life {
			return fmt.Errorf("%w: %s has a newer one", ErrNoSeat, from.Member)
		}
		was.stop(errEnded)
		select {
		case <-was.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	life, stop := context.WithCancelCause(life)
	g := n.newGuest(from, o, stop)
	mate, closeSeat, err := n.deps.Seat(life, g)
	if err != nil {
		stop(nil)
		return err
	}
	n.mu.Lock()
	n.guests[from.Member], n.mates[from.Member] = g, mate
	n.mu.Unlock()
	n.all.Go(func() {
		defer close(g.over)
		defer stop(nil)
		err := mate.Run(life)
		closeSeat()
		if errors.Is(context.Cause(life), errDrained) {
			n.giveLast(life, g)
		}
		n.mu.Lock()
		if n.guests[from.Member] == g {
			delete(n.guests, from.Member)
			delete(n.mates, from.Member)
		}
		n.mu.Unlock()
		n.ended(life, g, err)
	})
	return nil
}

// giveLast gives the team what the copy of a member has that leaves this node.
func (n *Node) giveLast(life context.Context, g *Guest) {
	const patience = 10 * time.Second // for a remote that does not answer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), patience)
	defer cancel()
	g.mu.Lock()
	last := g.copy
	g.mu.Unlock()
	now, err := g.give(ctx)
	if err == nil && now != last {
		err = g.Report(ctx, Report{Copy: &now})
	}
	if err != nil {
		n.deps.Warn("what %s has not pushed stays in its working copy on this host: %v", g.Member, err)
	}
}

// ended reports the end of a life. The end of the node is not the end of its members' lives: they go on
// when it is back.
func (n *Node) ended(life context.Context, g *Guest, err error) {
	e := Ended{Halt: errors.Is(err, teammate.ErrHalted)}
	switch {
	case life.Err() != nil && !errors.Is(context.Cause(life), errEnded):
		return
	case err != nil && !errors.Is(err, errEnded):
		e.Error = err.Error()
	}
	if err := g.Report(context.WithoutCancel(life), Report{Ended: &e}); err != nil {
		n.deps.Warn("the end of %s is not reported: %v", g.Member, err)
	}
}
