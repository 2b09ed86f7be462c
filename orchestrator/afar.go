package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// newRoster returns the roster of members on other hosts; nil: there are none.
func newRoster(nodes Nodes) *port.Roster {
	if nodes == nil {
		return nil
	}
	return port.NewRoster(nodes, nodes.Lost)
}

// makeAfar makes who works at the seat of a member that works on another host.
func (h *seatBuilder) makeAfar(ctx context.Context, s *crew.Seat) (crew.Occupant, error) {
	if err := h.openFolders(ctx, s); err != nil {
		return crew.Occupant{}, err
	}
	if own, has := h.copies.Of(s.Member.Name); !has || !own.InGit() {
		return crew.Occupant{}, fmt.Errorf("%w: it works on another host, so that it needs a working copy of its own: isolation: worktree",
			configs.ErrSpec)
	}
	permissions, err := h.startingPolicy(ctx, s)
	if err != nil {
		return crew.Occupant{}, err
	}
	name := s.Member.Name
	h.Ledger.Open(name, s.Member.Limits, s.Member.CurrentAgent(), transcript.History{})
	mate := h.roster.Mate(port.Seat{
		From: port.From{Member: name, Life: s.Member.Session.Epoch}, On: h.o.on(s.Member.Member), Session: s.Member.Session.Session,
		Mode: func() string { return permissions.EffectiveMode() }, Next: s.Next,
		Home: &afarHome{h: h, s: s, sink: s.Sink(ctx), asker: h.Asks.Asker(name), tasks: h.Board.TaskLister(h.o.completesOnPass, h.Journal.Warn)},
		Give: func(ctx context.Context, last worktree.Snapshot) (worktree.Snapshot, error) {
			return h.copies.Give(ctx, name, last)
		},
		Take:    func(ctx context.Context, now worktree.Snapshot) error { return h.copies.Take(ctx, name, now, true) },
		Changed: s.TellAwaitedRun,
		Placed:  func(string) {},
		Warn: func(text string, err error) {
			h.Journal.Append(events.Event{Member: name, Turn: s.Turn(), Data: events.Warning{Text: fmt.Sprintf("%s: %v", text, err)}})
		},
	})
	return crew.Occupant{Mate: mate, Permissions: permissions}, nil
}

// afarHome answers what a member on another host asks.
type afarHome struct {
	h     *seatBuilder
	s     *crew.Seat
	sink  events.Sink
	asker teammate.Asker
	tasks teammate.TaskLister

	mu      sync.Mutex
	release func() // ends the turn's slot; nil: it has none
}

// Waiting implements port.Home.
func (a *afarHome) Waiting(ctx context.Context) ([]agent.Input, error) { return a.s.Waiting(ctx) }

// Taken implements port.Home.
func (a *afarHome) Taken(ctx context.Context, ids []string) error { return a.s.Taken(ctx, ids) }

// Admit implements port.Home.
func (a *afarHome) Admit(ctx context.Context, begins bool) error {
	release := func() {}
	if begins {
		var err error
		if release, err = a.s.Admit(ctx); err != nil {
			return err
		}
	}
	a.mu.Lock()
	was := a.release
	a.release = release
	a.mu.Unlock()
	if was != nil {
		was()
	}
	return nil
}

// Left implements port.Home.
func (a *afarHome) Left(_ context.Context, helper bool) error {
	return a.h.Ledger.Purse(a.s.Member.Name).Left(helper)
}

// Standing implements port.Home.
func (a *afarHome) Standing(ctx context.Context) (port.Standing, error) {
	open, err := a.tasks.InProgress(ctx, a.s.Member.Name)
	return port.Standing{
		InProgress: open, OnHold: a.h.Asks.Plans.OnHold(a.s.Member), Crons: a.h.times.Of(a.s.Member.Name), Present: a.asker.Present(),
	}, err
}

// Passed implements port.Home.
func (a *afarHome) Passed(ctx context.Context, p port.Passed) error {
	if closer, ok := a.tasks.(teammate.TaskCloser); ok {
		return closer.Passed(ctx, p.Tasks)
	}
	return nil
}

// Tool implements port.Home.
func (a *afarHome) Tool(ctx context.Context, c port.ToolCall) (agent.ToolResult, error) {
	if c.Command {
		reply, err := a.h.command(ctx, a.s.Member.Name, c.Tool, c.Call.Input)
		return agent.ToolResult{Response: reply}, err
	}
	names := teamtools.NamesFor(a.s.Member.CurrentAgent())
	if c.Program {
		names = teamtools.MCPNames
	}
	list, err := a.s.TeamTools(names)
	if err != nil {
		return agent.ToolResult{}, err
	}
	i := slices.IndexFunc(list, func(t teamtools.Tool) bool { return t.Spec().Name == c.Tool })
	if i < 0 {
		return agent.Failed("the team has no tool %s", c.Tool), nil
	}
	return list[i].Run(ctx, c.Call), nil
}

// Ask implements port.Home.
func (a *afarHome) Ask(ctx context.Context, q port.Question) (port.Answer, error) {
	if q.Unbegun {
		r, ok := a.asker.(agent.Reminder)
		return port.Answer{Unbegun: ok && r.Unbegun(ctx, q.Question.Call.ID)}, nil
	}
	q.Question.Member = a.s.Member.Name
	return port.Answer{Answer: a.asker.Ask(ctx, q.Question)}, nil
}

// Notice implements port.Home.
func (a *afarHome) Notice(ctx context.Context, n port.Notice) error {
	return a.s.PostNotice(ctx, n.ID, n.Text)
}

// Report implements port.Home. An event is the member's, whatever the node says, and no change of the store.
func (a *afarHome) Report(_ context.Context, r port.Report) error {
	if r.Spent != nil {
		a.h.Ledger.Purse(a.s.Member.Name).Spend(r.Spent.Usage, r.Spent.USD)
	}
	if r.Event != nil {
		e := r.Event.Event()
		a.sink(events.Event{Member: a.s.Member.Name, Turn: e.Turn, Helper: e.Helper, Data: e.Data})
	}
	return nil
}

// on returns the labels of the node on which a member works; nil: it works on this host.
func (o *Orchestrator) on(m *configs.Member) []string {
	if o.opts.Overrides.On != nil {
		return o.opts.Overrides.On(m.Name)
	}
	return m.On
}

// serveNodes answers what nodes ask, until ctx ends.
func (t *team) serveNodes(ctx context.Context) error {
	if t.nodes == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return t.nodes.Serve(ctx, t.roster.Ask, t.roster.Report)
}

// Nodes are the other hosts on which members of a team work.
type Nodes interface {
	port.Hub
	// Serve calls ask for each request of a node, and report for each report, in order for each node, until
	// ctx ends.
	Serve(ctx context.Context,
		ask func(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error),
		report func(ctx context.Context, node, member string, body json.RawMessage) error) error
	// Lost reports whether a node does not answer.
	Lost(node string) bool
}
