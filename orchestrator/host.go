package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// HostLink is a node's connection to the host that leads the team.
type HostLink interface {
	port.Link
	// Serve calls handle for each order, each in a goroutine of its own, until ctx ends.
	Serve(ctx context.Context, handle func(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error)) error
}

// Host runs members of a team that another host leads, as that host orders, until ctx ends. They work here
// as members of a team of this host do, with its programs, keys and working copies. The team's tasks and
// mail, its goal and merges are there. Members whose life ctx has ended go on when the node is back.
// Once drain is closed, it takes no more members and begins no more turns, and returns when the running
// ones have ended; after grace it interrupts them.
func (o *Orchestrator) Host(ctx context.Context, link HostLink, drain <-chan struct{}, grace time.Duration) error {
	d := *o.spec.Load()
	d.team = guestSpec(d.team)
	o.withSpec(d)
	hosted := &hosting{link: link, drain: drain, grace: grace}
	this := crew.Purpose{Host: hosted.run}
	_, err := o.runFor(ctx, thisRun{only: this, hosted: hosted})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// guestSpec returns a spec without what the host that leads the team does.
func guestSpec(team *configs.Team) *configs.Team {
	own := *team
	own.Bus, own.Schedules, own.Tasks, own.Notify, own.Web, own.Goal = configs.Bus{}, nil, nil, nil, configs.Web{}, ""
	own.Budget = configs.Budget{}
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
	node := port.NewNode(port.NodeDeps{Link: g.link, Copies: t.copies, Warn: t.Journal.Warn,
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
	serving, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-g.drain:
			node.Drain(g.grace)
			end()
		case <-serving.Done():
		}
	}()
	return g.link.Serve(serving, func(order context.Context, _, method string, in json.RawMessage) (json.RawMessage, error) {
		return node.Order(order, ctx, in)
	})
}

// beGuest makes the options of a teammate those of a member whose team is on another host, if it is.
func (h *seatBuilder) beGuest(ctx context.Context, o *teammate.Options, s *crew.Seat) {
	g := s.Guest()
	if g == nil {
		return
	}
	o.Inbox, o.Tasks, o.Asker, o.PostNotice, o.OnBackgroundHook = g, g, g.Asker(ctx), g.Notice, nil
	o.OnHold = func() string {
		now, err := g.Standing(ctx)
		if err != nil {
			return "" // the gates ask again
		}
		return now.OnHold
	}
	o.Crons = func() []hooks.SessionCron {
		now, err := g.Standing(ctx)
		if err != nil {
			return nil
		}
		return now.Crons
	}
	o.Purse = guestPurse{h.Ledger.Purse(s.Member.Name), h, func() context.Context { return ctx }, g}
	report := h.reportStates(ctx, s)
	record := h.afterTurns(ctx, s, func(e events.Event) { h.reportEvent(ctx, g, s.Record(ctx, e)) })
	o.Sink = func(e events.Event) {
		record(e)
		report()
	}
}

// reportEvent reports an event of a guest.
func (h *seatBuilder) reportEvent(ctx context.Context, g *port.Guest, e events.Event) {
	if err := g.ReportEvent(context.WithoutCancel(ctx), e); err != nil {
		h.Log.Error("an event is not reported", "member", g.Member, "type", e.Data.Type(), "err", err)
	}
}

// note appends an event of a member to the journal, and reports it if the journal of its team is elsewhere.
func (h *seatBuilder) note(ctx context.Context, s *crew.Seat, d events.Data) {
	e := events.Event{Member: s.Member.Name, Turn: s.Turn(), Data: d}
	h.Journal.Append(e)
	if g := s.Guest(); g != nil {
		h.reportEvent(ctx, g, e)
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

// guestPurse is the purse of a guest: its own limits count here, and all limits where its team is.
type guestPurse struct {
	accounts.Purse
	h     *seatBuilder
	ctx   func() context.Context
	guest *port.Guest
}

// Spend implements agent.Purse.
func (p guestPurse) Spend(u agent.Usage, usd float64) {
	p.Purse.Spend(u, usd)
	if err := p.guest.Report(context.WithoutCancel(p.ctx()), port.Report{Spent: &port.Spent{Usage: u, USD: usd}}); err != nil {
		p.h.Log.Error("what a member uses is not reported", "member", p.guest.Member, "err", err)
	}
}

// Left implements agent.Purse.
func (p guestPurse) Left(helper bool) error {
	if err := p.Purse.Left(helper); err != nil {
		return err
	}
	if err := p.guest.Left(p.ctx(), helper); err != nil {
		return fmt.Errorf("what its team has left: %w", err)
	}
	return nil
}
