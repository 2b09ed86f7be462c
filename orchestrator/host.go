package orchestrator

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
)

// HostLink is a node's connection to the host that leads the team.
type HostLink interface {
	port.Link
	// Serve calls handle for each order, each in a goroutine of its own, until ctx ends.
	Serve(ctx context.Context, handle func(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error)) error
	// Spec waits for another spec than the one that the node has.
	Spec(ctx context.Context) (*configs.Team, error)
}

// Host runs members of a team that another host leads, as that host orders, until ctx ends. They work here
// as members of a team of this host do, with its programs, keys and working copies. The team's tasks and
// mail, its goal and merges are there. Members whose life ctx has ended go on when the node is back.
// Once drain is closed, it takes no more members and begins no more turns, and returns when the running
// ones have ended; after grace it interrupts them.
func (o *Orchestrator) Host(ctx context.Context, link HostLink, drain <-chan struct{}, grace time.Duration) error {
	d := *o.spec.Load()
	d.team = ForNode(d.team)
	o.withSpec(d)
	hosted := &hosting{link: link, drain: drain, grace: grace}
	this := crew.Purpose{Host: hosted.run}
	_, err := o.runFor(ctx, thisRun{only: this, hosted: hosted})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ForNode returns a spec without what the host that leads the team does. The clone of a node need not have the
// branches that it names.
func ForNode(team *configs.Team) *configs.Team {
	own := *team
	own.Bus, own.Schedules, own.Tasks, own.Notify, own.Web, own.Goal = configs.Bus{}, nil, nil, nil, configs.Web{}, ""
	own.Budget, own.Merge, own.Worktree.Base = configs.Budget{}, configs.Merge{}, ""
	return &own
}

// hosting is the part of a run that hosts members of a team that another host leads.
type hosting struct {
	link    HostLink
	drain   <-chan struct{}
	grace   time.Duration
	team    *team
	seating sync.Mutex // held while a seat is made
}

// run hosts members until ctx ends.
func (g *hosting) run(ctx context.Context) error {
	t := g.team
	serving, end := context.WithCancelCause(ctx)
	node := port.NewNode(port.NodeDeps{Link: g.link, Copies: t.copies, Warn: t.Journal.Warn, Transcript: t.o.place.Transcript,
		Full: func(err error) bool {
			full := state.NoRoom(err)
			if full {
				end(err)
			}
			return full
		},
		Used: func(member string) (past port.Spent) {
			past.Usage, past.USD = t.Ledger.Purse(member).Total()
			return past
		},
		Seat: func(ctx context.Context, guest *port.Guest) (port.Mate, func(), error) {
			g.seating.Lock()
			defer g.seating.Unlock()
			s, err := t.crew.SeatGuest(ctx, guest)
			if err != nil {
				return nil, nil, err
			}
			return s.Mate(), func() { t.crew.EndGuest(context.WithoutCancel(ctx), s) }, nil
		}})
	defer node.Wait()
	var group sync.WaitGroup
	defer group.Wait()
	defer end(nil)
	group.Go(func() {
		select {
		case <-g.drain:
			node.Drain(g.grace)
			end(nil)
		case <-serving.Done():
		}
	})
	group.Go(func() { end(g.follow(serving, node)) })
	return g.link.Serve(serving, func(order context.Context, _, method string, in json.RawMessage) (json.RawMessage, error) {
		return node.Order(order, serving, in)
	})
}

// follow puts each other spec of the team into effect, until ctx ends. Members whose keys have changed go on until
// the team lets them begin anew.
func (g *hosting) follow(ctx context.Context, node *port.Node) error {
	for {
		spec, err := g.link.Spec(ctx)
		if err != nil {
			return err
		}
		changed, err := g.use(ctx, ForNode(spec))
		if err != nil {
			return err
		}
		for _, m := range changed {
			node.Outdate(m.Name)
		}
	}
}

// use puts a spec into effect on a node, and returns what has changed of members.
func (g *hosting) use(ctx context.Context, spec *configs.Team) ([]events.MemberChange, error) {
	g.seating.Lock()
	defer g.seating.Unlock()
	t := g.team
	next, err := t.o.check(spec)
	if err != nil {
		return nil, err
	}
	change, err := specs.Compare(t.o.team(), next.team)
	if err == nil {
		err = t.reload.Adopt(ctx, next.team, next.hooks)
	}
	if err != nil {
		return nil, err
	}
	t.o.spec.Store(&next)
	t.Board.SetTeam(next.team)
	for _, m := range next.team.Members() {
		t.Ledger.SetLimits(m.Name, m.Limits)
	}
	return change.Members, nil
}

// homeOf returns the ways of a member to its team, wherever that is.
func (h *seatBuilder) homeOf(ctx context.Context, s *crew.Seat) port.Home {
	g := s.Guest()
	if g == nil {
		home := h.home(ctx, s)
		home.Sink = h.afterTurns(ctx, s, home.Sink)
		return home
	}
	report, home := h.reportStates(ctx, s), g.Home(ctx, h.Ledger.Purse(s.Member.Name))
	tell := home.Sink
	record := h.afterTurns(ctx, s, func(e events.Event) { tell(s.Record(ctx, e)) })
	home.Sink = func(e events.Event) {
		record(e)
		report()
	}
	return home
}

// note appends an event of a member to the journal, and reports it if the journal of its team is elsewhere.
func (h *seatBuilder) note(ctx context.Context, s *crew.Seat, d events.Data) {
	e := events.Event{Member: s.Member.Name, Turn: s.Turn(), Data: d}
	h.Journal.Append(e)
	if g := s.Guest(); g != nil {
		g.Note(ctx, e)
	}
}

// reportStates returns a function that reports what a guest does in the background, if that has changed.
func (h *seatBuilder) reportStates(ctx context.Context, s *crew.Seat) func() {
	var mu sync.Mutex
	var last port.State
	return func() {
		mu.Lock()
		defer mu.Unlock()
		now := port.State{Helpers: s.Teammate().Helpers(), Runs: s.BackgroundTasks(), Awaited: s.AwaitedRun()}
		if now.Helpers == last.Helpers && now.Awaited == last.Awaited && slices.Equal(now.Runs, last.Runs) {
			return
		}
		last = now
		if err := s.Guest().Report(context.WithoutCancel(ctx), port.Report{State: &now}); err != nil {
			h.Log.Error("the state of a member is not reported", "member", s.Member.Name, "err", err)
		}
	}
}
