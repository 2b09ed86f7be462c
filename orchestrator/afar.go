package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/worktree"
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
	name, session := s.Member.Name, s.Member.Session
	used := func(past port.Spent) {
		h.Ledger.Open(name, s.Member.Limits, s.Member.CurrentAgent(), transcript.History{Usage: past.Usage, CostUSD: past.USD})
	}
	used(port.Spent{})
	home := h.home(ctx, s)
	mate := h.roster.Mate(port.Seat{
		From: port.From{Member: name, Life: session.Epoch}, On: h.o.on(s.Member.Member), Session: session.Session,
		Transcript: h.o.place.Transcript(name, session.Session), Reported: h.State.Reported(name),
		Mode: func() string { return permissions.EffectiveMode() }, Home: home,
		Give: func(ctx context.Context, last worktree.Snapshot) (worktree.Snapshot, error) {
			return h.copies.Give(ctx, name, last)
		},
		Take: func(ctx context.Context, now worktree.Snapshot) error { return h.copies.Take(ctx, name, now, true) },
		Used: used,
		Adopted: func(turn int) (release func()) {
			home.Sink(events.Event{Member: name, Data: events.MemberStarted{
				Agent: members.AgentTitle(s.Member.CurrentAgent()), SessionID: session.Session, Resumed: true,
			}})
			if turn > 0 {
				home.Sink(events.Event{Member: name, Turn: turn, Data: events.TurnStarted{Cause: events.ByResume}})
				release = h.Logins.Adopt(s.Member)
			}
			return release
		},
		Changed: s.TellAwaitedRun,
		Warn: func(text string, err error) {
			h.Journal.Append(events.Event{Member: name, Turn: s.Turn(), Data: events.Warning{Text: fmt.Sprintf("%s: %v", text, err)}})
		},
	})
	return crew.Occupant{Mate: mate, Permissions: &permissions}, nil
}

// home returns the ways of a member to its team, which is on this host. The member may be on another one.
func (h *seatBuilder) home(ctx context.Context, s *crew.Seat) port.Home {
	name := s.Member.Name
	return port.Home{
		Inbox: s, Tasks: h.Board.TaskLister(h.o.completesOnPass, h.Journal.Warn), Asker: h.Asks.Asker(name), Purse: h.Ledger.Purse(name),
		Sink:             s.Sink(ctx),
		OnHold:           func() string { return h.Asks.Plans.OnHold(s.Member) },
		Crons:            func() []hooks.SessionCron { return h.times.Of(name) },
		PostNotice:       s.PostNotice,
		OnBackgroundHook: func(p hooks.Progress) { h.Background.Observe(ctx, name, p) },
		Tool:             func(ctx context.Context, c port.ToolCall) (agent.ToolResult, error) { return h.teamTool(ctx, s, c) },
		Policy: func(ctx context.Context, name string, in hooks.Input) hooks.Result {
			if gate := h.policies.Named(name); gate != nil {
				return gate(ctx, in)
			}
			return runner.Broken(fmt.Errorf("the coordinator's covey has no gate %s", name))
		},
	}
}

// teamTool calls a team tool for a member on another host.
func (h *seatBuilder) teamTool(ctx context.Context, s *crew.Seat, c port.ToolCall) (agent.ToolResult, error) {
	if c.Command {
		reply, err := h.passed.forMember(ctx, s.Member.Name, c.Tool, c.Call.Input)
		return agent.ToolResult{Response: reply}, err
	}
	names := teamtools.NamesFor(s.Member.CurrentAgent())
	if c.Program {
		names = teamtools.MCPNames
	}
	list, err := s.TeamTools(names)
	if err != nil {
		return agent.ToolResult{}, err
	}
	i := slices.IndexFunc(list, func(t teamtools.Tool) bool { return t.Spec().Name == c.Tool })
	if i < 0 {
		return agent.Failed("the team has no tool %s", c.Tool), nil
	}
	return list[i].Run(ctx, c.Call), nil
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
		report func(ctx context.Context, node string, number uint64, member string, body json.RawMessage) error) error
	// Respec tells nodes that another spec is in effect.
	Respec()
	// Lost reports whether a node does not answer.
	Lost(node string) bool
}
