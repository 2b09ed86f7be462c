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
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Copies are the working copies of a node; see workcopies.Trees.
type Copies interface {
	Give(ctx context.Context, member string, last worktree.Snapshot) (worktree.Snapshot, error)
	Take(ctx context.Context, member string, s worktree.Snapshot, files bool) error
	Resume(ctx context.Context, member string, s worktree.Snapshot) (rescued string, err error)
}

// Guest is one life of a member on a node. It gives the member its work, and is its way to its team.
type Guest struct {
	Member     string
	order      SeatOrder
	link       Link
	copies     Copies
	transcript string // file
	tell       func(format string, args ...any)
	turns      chan Turn
	ends       chan End
	stop       context.CancelCauseFunc
	drain      <-chan struct{} // closed when the life is to end after its turn
	over       chan struct{}   // closed when the life has ended
	exchange   sync.Mutex      // held while the copy is given or taken
	spending   sync.Mutex      // held while what is used is counted and its report gets the number of the life

	mu      sync.Mutex
	life    uint64            // rises if another coordinator goes on with it
	copy    worktree.Snapshot // what both copies had last
	kept    int64             // bytes of the transcript that the team has
	given   uint64            // number of the last Turn that was given
	work    Turn              // the last Turn that was taken
	idle    bool              // it waits for a Turn
	turn    int               // number of the member's turn that runs; 0: none
	state   State             // as it was reported last
	rotated *Rotated
	stale   bool // the spec has changed for it, so that no coordinator goes on with it
}

// warn warns of something that is not reported.
func (g *Guest) warn(what string, err error) {
	if err != nil {
		g.tell("%s of %s is not reported: %v", what, g.Member, err)
	}
}

// newGuest returns a life that has not begun. stop ends it in the middle of its turn.
func (n *Node) newGuest(from From, order SeatOrder, stop context.CancelCauseFunc) *Guest {
	return &Guest{Member: from.Member, life: from.Life, order: order, link: n.deps.Link, copies: n.deps.Copies, stop: stop, drain: n.drain,
		copy: order.Copy, tell: n.deps.Warn, transcript: n.deps.Transcript(from.Member, order.Session),
		turns: make(chan Turn, 1), ends: make(chan End, 1), over: make(chan struct{})}
}

// Life returns the number of the life.
func (g *Guest) Life() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.life
}

// Order returns what the life began with.
func (g *Guest) Order() SeatOrder { return g.order }

// Arrive brings the working copy and the transcript to what the team has, before the life begins.
func (g *Guest) Arrive(ctx context.Context) error {
	if err := g.takeLines(ctx); err != nil {
		return fmt.Errorf("take the transcript of %s along: %w", g.Member, err)
	}
	rescued, err := g.copies.Resume(ctx, g.Member, g.order.Copy)
	if err != nil || rescued == "" {
		return err
	}
	return g.reportEvent(ctx, events.Event{Member: g.Member, Data: events.Warning{
		Text: "it has worked elsewhere meanwhile; what was left on this host is " + rescued + " of the repository there"}})
}

// take brings the working copy to what the coordinator's has.
func (g *Guest) take(ctx context.Context, s worktree.Snapshot) error {
	if s.Head == "" {
		return nil
	}
	g.exchange.Lock()
	defer g.exchange.Unlock()
	g.mu.Lock()
	g.copy = s
	g.mu.Unlock()
	return g.copies.Take(ctx, g.Member, s, true)
}

// give pushes what the working copy has.
func (g *Guest) give(ctx context.Context) (worktree.Snapshot, error) {
	g.exchange.Lock()
	defer g.exchange.Unlock()
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
	g.exchange.Lock()
	defer g.exchange.Unlock()
	g.mu.Lock()
	g.copy = made
	g.mu.Unlock()
	return g.copies.Take(ctx, g.Member, made, false)
}

// ask sends a request.
func (g *Guest) ask(ctx context.Context, a Ask) (out Answered, err error) {
	a.From = From{g.Member, g.Life()}
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

// Report reports what has happened. Reports keep their order.
func (g *Guest) Report(ctx context.Context, r Report) error {
	g.mu.Lock()
	from := From{g.Member, g.life}
	if r.State != nil {
		g.state = *r.State
	}
	g.mu.Unlock()
	in, err := texts.Marshal(Reported{from, r})
	if err != nil {
		return fmt.Errorf("report to the team: %w", err)
	}
	return g.link.Report(ctx, g.Member, in)
}

// reportEvent reports an event.
func (g *Guest) reportEvent(ctx context.Context, e events.Event) error {
	if e.Helper == "" {
		g.mu.Lock()
		switch e.Data.(type) {
		case events.TurnStarted:
			g.turn = e.Turn
		case events.TurnEnded:
			g.turn = 0
		}
		g.mu.Unlock()
	}
	l, err := e.Line()
	if err != nil {
		return err
	}
	return g.Report(ctx, Report{Event: &l})
}

// Next implements teammate.Inbox.
func (g *Guest) Next(ctx context.Context) (teammate.Work, error) {
	copy, err := g.give(ctx)
	if err == nil {
		err = g.giveLines(ctx)
	}
	if err != nil {
		return teammate.Work{}, err
	}
	g.mu.Lock()
	g.idle = true
	done := g.work.No
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
		g.work, g.idle = t, false
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

// Rotates implements teammate.Rotator: the team decides it.
func (g *Guest) Rotates(teammate.Work) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.work.Facts != nil
}

// Facts implements teammate.Rotator.
func (g *Guest) Facts(context.Context) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.work.Facts == nil { // the brief was written before a crash
		return ""
	}
	return *g.work.Facts
}

// Rotate implements teammate.Rotator. The team makes the new session, from its copy of the transcript.
func (g *Guest) Rotate(ctx context.Context, h transcript.Handover, w teammate.Work) error {
	g.mu.Lock()
	g.rotated = &Rotated{h, w}
	g.mu.Unlock()
	return g.giveLines(ctx)
}

// Waiting implements teammate.Inbox.
func (g *Guest) Waiting(ctx context.Context) ([]agent.Input, error) {
	out, err := g.ask(ctx, Ask{Waiting: true})
	return out.Waiting, err
}

// Taken implements teammate.Inbox.
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

// standing returns what the team knows of the member.
func (g *Guest) standing(ctx context.Context) (Standing, error) {
	out, err := g.ask(ctx, Ask{Standing: true})
	return out.Standing, err
}

// InProgress implements teammate.TaskLister.
func (g *Guest) InProgress(ctx context.Context, _ string) ([]tasks.Task, error) {
	s, err := g.standing(ctx)
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

// Home returns the member's ways to its team. ctx is that of its life, and own its purse on this host. Its tools
// and gates ask for themselves.
func (g *Guest) Home(ctx context.Context, own agent.Purse) Home {
	now := func() Standing {
		s, err := g.standing(ctx)
		if err != nil {
			return Standing{} // the gates ask again
		}
		return s
	}
	return Home{
		Inbox: g, Tasks: g, Asker: guestAsker{g, func() bool { return now().Present }}, Purse: guestPurse{own, g, func() context.Context { return ctx }},
		Sink:   func(e events.Event) { g.Note(ctx, e) },
		OnHold: func() string { return now().OnHold },
		Crons:  func() []hooks.SessionCron { return now().Crons },
		PostNotice: func(ctx context.Context, id, text string) error {
			return g.Report(ctx, Report{Notice: &Notice{id, text}})
		},
		OnBackgroundHook: func(p hooks.Progress) { g.warn("a hook", g.Report(context.WithoutCancel(ctx), Report{Hook: &p})) },
	}
}

// Note reports an event.
func (g *Guest) Note(ctx context.Context, e events.Event) {
	g.warn("an event", g.reportEvent(context.WithoutCancel(ctx), e))
}

// guestPurse is the purse of a guest: its own limits count here, and all limits where its team is.
type guestPurse struct {
	agent.Purse
	*Guest
	ctx func() context.Context
}

// Spend implements agent.Purse.
func (p guestPurse) Spend(u agent.Usage, usd float64) {
	p.spending.Lock()
	defer p.spending.Unlock()
	p.Purse.Spend(u, usd)
	p.warn("what it uses", p.Report(context.WithoutCancel(p.ctx()), Report{Spent: &Spent{u, usd}}))
}

// Left implements agent.Purse.
func (p guestPurse) Left(helper bool) error {
	if err := p.Purse.Left(helper); err != nil {
		return err
	}
	if _, err := p.ask(p.ctx(), Ask{Left: &helper}); err != nil {
		return fmt.Errorf("what its team has left: %w", err)
	}
	return nil
}

// Policy returns a gate that the team asks.
func (g *Guest) Policy(name string) runner.Policy {
	var ask func(ctx context.Context, in hooks.Input, asks bool) hooks.Result
	ask = func(ctx context.Context, in hooks.Input, asks bool) hooks.Result {
		v := Verdict{Gate: name, Event: in.Payload.Event(), Completing: inbox.Completer(ctx) != "", Asks: asks}
		if task, ok := in.Payload.(hooks.TaskCompletedInput); ok {
			v.Task = &task
		}
		var out Answered
		var err error
		if v.Copy, err = g.give(ctx); err == nil {
			out, err = g.ask(ctx, Ask{Verdict: &v})
		}
		if err != nil {
			return runner.Broken(fmt.Errorf("the team cannot be asked for the verdict of %s: %w", name, err))
		}
		if r := out.Verdict.Result; out.Verdict.MayAsk {
			r.Wait.Ask = func(ctx context.Context) hooks.Result { return ask(ctx, in, true) }
		}
		return out.Verdict.Result
	}
	return func(ctx context.Context, in hooks.Input) hooks.Result { return ask(ctx, in, false) }
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
	Seat       func(ctx context.Context, g *Guest) (Mate, func(), error)
	Used       func(member string) Spent // over all lives
	Transcript func(member, session string) string
	Warn       func(format string, args ...any)
	// Full reports whether an error is due to a full disk. Then the node ends, and its members go on.
	Full func(error) bool
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
		if err := n.seat(ctx, life, o.From, *o.Seat); err != nil {
			return nil, err
		}
		return texts.Marshal(Seated{Used: n.deps.Used(o.Member)})
	}
	n.mu.Lock()
	g, mate := n.guests[o.Member], n.mates[o.Member]
	n.mu.Unlock()
	if g == nil || mate == nil || g.Life() != o.Life && o.Adopt == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoSeat, o.Member)
	}
	switch {
	case o.Adopt != nil:
		now, err := n.adopt(ctx, g, o.Life, *o.Adopt)
		if err == nil {
			err = mate.SetMode(o.Adopt.Mode)
		}
		if err != nil {
			return nil, err
		}
		return texts.Marshal(now)
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
	if t.No <= g.given || len(g.turns) > 0 {
		return // it has it
	}
	g.given = t.No
	g.turns <- t
}

// Outdate lets the life of a member whose spec has changed end before another coordinator would go on with it.
func (n *Node) Outdate(member string) {
	n.mu.Lock()
	g := n.guests[member]
	n.mu.Unlock()
	if g != nil {
		g.mu.Lock()
		g.stale = true
		g.mu.Unlock()
	}
}

// adopt lets a life go on under another coordinator, in its turn or between two.
func (n *Node) adopt(ctx context.Context, g *Guest, life uint64, o SeatOrder) (Seated, error) {
	if _, err := g.hasLines(o.Lines); err != nil {
		return Seated{}, err
	}
	g.spending.Lock()
	defer g.spending.Unlock()
	g.mu.Lock()
	if g.order.Session != o.Session || g.life > life || g.stale || closed(g.over) {
		g.mu.Unlock()
		return Seated{}, fmt.Errorf("%w: %s", ErrNoSeat, g.Member)
	}
	g.life = life
	now := Seated{Given: g.given, Turn: g.turn, State: g.state, Used: n.deps.Used(g.Member)}
	waits, idle := g.idle && len(g.turns) == 0, Idle{g.work.No, g.copy}
	g.mu.Unlock()
	if waits { // what it has reported was of its life before
		return now, g.Report(ctx, Report{Idle: &idle})
	}
	return now, nil
}

// fire runs the hooks of an event.
func fire(ctx context.Context, mate Mate, f Fired) (json.RawMessage, error) {
	fields, err := texts.Fields(f.Input)
	if err != nil {
		return nil, fmt.Errorf("the input of %s: %w", f.Event, err)
	}
	if f.Completer != "" {
		ctx = inbox.Completing(ctx, f.Completer)
	}
	payload := hooks.Payload(hooks.RawPayload{Name: f.Event, Fields: fields})
	if task := (hooks.TaskCompletedInput{}); f.Event == hooks.TaskCompleted && json.Unmarshal(f.Input, &task) == nil {
		payload = task // which gates of covey read
	}
	out, err := mate.Fire(ctx, payload)
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
		switch life := was.Life(); {
		case life == from.Life:
			return nil
		case life > from.Life:
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
		if n.deps.Full(err) {
			<-ctx.Done() // as when it drains
			err = context.Cause(ctx)
		}
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
	err = errors.Join(err, g.giveLines(ctx))
	if err != nil {
		n.deps.Warn("what %s has not pushed stays in its working copy on this host: %v", g.Member, err)
	}
}

// ended reports the end of a life. The end of the node is not the end of its members' lives: they go on
// when it is back.
func (n *Node) ended(life context.Context, g *Guest, err error) {
	g.mu.Lock()
	e := Ended{Halt: errors.Is(err, teammate.ErrHalted), Rotated: g.rotated}
	g.mu.Unlock()
	switch {
	case life.Err() != nil && !errors.Is(context.Cause(life), errEnded), n.deps.Full(err):
		return
	case err != nil && !errors.Is(err, errEnded):
		e.Error = err.Error()
	}
	if err := g.Report(context.WithoutCancel(life), Report{Ended: &e}); err != nil {
		n.deps.Warn("the end of %s is not reported: %v", g.Member, err)
	}
}
