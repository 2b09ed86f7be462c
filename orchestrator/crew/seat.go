package crew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/permission"
)

// Seat is one member's place in the crew: its session, its inbox, and its state. It
// implements teammate.Inbox.
type Seat struct {
	Member *members.Member
	Life   members.Life

	guest    *port.Guest // the team is on another host; nil: it is here
	crew     *Crew
	received mail.Received    // mail from the bus
	lane     *recordings.Lane // where what it is shown is recorded, or a replay's; nil: neither

	occupant   Occupant
	workspaces []*tools.Set                 // opened by the member's goroutine; mu guards the list
	skills     atomic.Pointer[tools.Skills] // nil before the workspace is open, and for agent programs
	mu         sync.Mutex                   // guards occupant.Permissions and held, too
	held       chan struct{}                // closed when the member need not wait for mail in its turn any more; nil: it does not wait
	closers    []func() error               // in the order of opening
	late       bool                         // it was added while the team runs
	waiting    bool                         // the last turn's work was harvested and the member waits; used by its goroutine only
	awaiting   sync.Mutex                   // held while awaited is read and told
	awaited    string                       // the last command that TellAwaitedRun has told of
	rotation   rotation                     // used by its goroutine, and by the loop before and after it runs
}

// Occupant is who works at a seat. It is made after the rest of the seat, because a teammate
// takes its mail and reports its events through the seat; nobody else sees a seat before
// it has its occupant.
type Occupant struct {
	Teammate    *teammate.Teammate // nil: the member is on another host
	Mate        port.Mate          // nil: Teammate
	Permissions *permission.Policy // the rules that the teammate was made with
	Caller      *mcp.Caller        // the member as an MCP caller
	Unfit       string             // why the member does not begin in this run; empty: it begins
}

// Mate returns what the crew tells the member by.
func (s *Seat) Mate() port.Mate { return s.occupant.Mate }

// Teammate returns the member's teammate; nil: the member is on another host.
func (s *Seat) Teammate() *teammate.Teammate { return s.occupant.Teammate }

// Caller returns the member as an MCP caller.
func (s *Seat) Caller() *mcp.Caller { return s.occupant.Caller }

// Interrupt interrupts the member's turn.
func (s *Seat) Interrupt(reason string) { s.occupant.Mate.Signal(port.Signal{Interrupt: reason}) }

// OnClose adds a function that Close calls.
func (s *Seat) OnClose(closer func() error) { s.closers = append(s.closers, closer) }

// UseWorkspace sets the member's workspace tools, and the skills among them. They are closed
// with the seat.
func (s *Seat) UseWorkspace(set *tools.Set, skills *tools.Skills) {
	s.mu.Lock()
	s.workspaces = append(s.workspaces, set)
	s.mu.Unlock()
	s.skills.Store(skills) // hooks ask from goroutines of their own
	s.OnClose(set.Close)   // called after the member's goroutine has ended
}

// HasBackground reports whether commands of the member's tools run in the background.
func (s *Seat) HasBackground() bool {
	return len(s.afar().Runs) > 0 || slices.ContainsFunc(s.sets(), (*tools.Set).HasBackground)
}

// sets returns the member's workspace tools.
func (s *Seat) sets() []*tools.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.workspaces)
}

// AwaitedRun names the command in the member's background whose end is awaited; empty: there is
// none.
func (s *Seat) AwaitedRun() string {
	for _, set := range s.sets() {
		if r, ok := set.Awaited(); ok {
			return r.String()
		}
	}
	return s.afar().Awaited
}

// afar returns what a member on another host does in the background. The tools of others belong to the
// seat.
func (s *Seat) afar() port.State {
	if s.occupant.Teammate != nil {
		return port.State{}
	}
	return s.occupant.Mate.State()
}

// TellAwaitedRun reports which command in the background the member waits for, if that has changed, and
// wakes the crew's loop.
func (s *Seat) TellAwaitedRun() {
	s.awaiting.Lock()
	defer s.awaiting.Unlock()
	if now := s.AwaitedRun(); now != s.awaited {
		s.awaited = now
		s.journal(events.Waiting{Kind: events.ForRun, For: now})
	}
	s.crew.deps.Loop.Poke()
}

// ObserveRun handles a change of a command in the member's background. The member's next life is told of
// commands that were cut off.
func (s *Seat) ObserveRun(ctx context.Context, e tools.RunEvent) {
	mate := s.occupant.Teammate
	switch e.Change {
	case tools.RunBegan:
		mate.RunBegan(e.ID)
		s.TellAwaitedRun()
	case tools.RunEnded, tools.RunKilled:
		mate.RunEnded(context.WithoutCancel(ctx), e.ID, e.Notice)
	case tools.RunStopped:
		text := fmt.Sprintf("%s was ended with the session of %s: %s", e.BackgroundRun, s.Member.Name, e.Unawaited)
		mate.RunStopped(e.ID, text)
		s.journal(events.Warning{Text: text})
	}
}

// Skills returns the member's skills; nil if it has none, or does not work here yet.
func (s *Seat) Skills() *tools.Skills { return s.skills.Load() }

// view returns what plan needs to know of a member, except what parts know. A leaving member
// does not count as idle: its tasks become open one after another, and it must not get
// the first of them again.
//
// Only the crew's loop calls it. It reads each part under that part's own lock, so the
// parts may differ by a moment; see director.scene.
func (s *Seat) view() plan.Seat {
	now, did := s.Life.State(), s.crew.deps.State.Position(s.Member.Name)
	v := plan.Seat{
		Name: s.Member.Name, Lead: s.Member.Lead, Turn: did.Turn, Idle: now.Idle && now.Leaving == "", Gone: now.Gone != "", GoneFor: now.Gone,
		SelfClaim: s.Member.SelfClaim, DependsOn: s.Member.DependsOn, Skills: members.Skills(s.Member.Member),
		OnlyReads: s.Member.OnlyReads(), Nudged: now.Nudged, Refused: did.Refused,
	}
	v.Runs, v.Helped = s.AwaitedRun() != "", s.occupant.Mate.State().Helpers > 0
	return v
}

// TeamTools returns the team's tools for the member, under the given names.
func (s *Seat) TeamTools(names teamtools.ToolNames) ([]teamtools.Tool, error) {
	list, err := s.crew.deps.Board.Tools(names, teamtools.Caller{Member: s.Member, Act: s.Actor})
	if s.guest == nil {
		return list, err
	}
	for i, t := range list {
		list[i] = t.By(func(ctx context.Context, call agent.ToolCall) agent.ToolResult {
			return s.guest.Tool(ctx, port.ToolCall{Tool: t.Spec().Name, Program: names == teamtools.MCPNames, Call: call}, t.Gated)
		})
	}
	return list, err
}

// Actor returns the member as the actor of a change.
func (s *Seat) Actor(callID string) teamtools.Actor {
	a := teamtools.Actor{
		Actor: actors.Actor{Name: s.Member.Name, Session: s.Member.Session.Epoch, CallID: callID},
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
			return s.occupant.Mate.Fire(ctx, p)
		},
	}
	// Task hooks of the lead name no teammate and cannot stop it: without its lead a team
	// could not end in order.
	if a.Lead = s.Member.Lead; !s.Member.Lead {
		a.Teammate, a.Team, a.Halt = s.Member.Name, s.crew.deps.Team().Name, s.Life.Halt
	}
	return a
}

// Permissions returns the member's configured rules.
func (s *Seat) Permissions() permission.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.occupant.Permissions
}

// Reconfigure replaces the member's configured rules, from its next decision on.
//
// Only one goroutine at a time may call it, because the old policy is read before the new
// one is set. Rights that hooks or people have added during the session stay. A node reconfigures its members
// itself.
func (s *Seat) Reconfigure(p permission.Policy) {
	if s.occupant.Teammate == nil {
		return
	}
	s.occupant.Teammate.Rights().Reconfigure(s.Permissions(), p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.occupant.Permissions = &p
}

// PostNotice puts the result of a helper or a command in the background into the member's own mailbox, once
// per id.
func (s *Seat) PostNotice(ctx context.Context, id, text string) error {
	by := actors.Actor{CallID: actors.CallID("helper", s.Member.Name+" "+id)}
	_, err := s.crew.deps.Store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{s.Member.Name}, Kind: mail.HelperMessage, Text: text, Summary: mail.Summary(text),
	})
	return err
}

// Close closes what the member has open, in reverse order of opening. The member's
// goroutine calls it last; without one, whoever removes the seat does.
func (s *Seat) Close(log *slog.Logger) {
	closers := s.closers
	s.closers = nil
	for _, closer := range slices.Backward(closers) {
		if err := closer(); err != nil && !errors.Is(err, os.ErrClosed) {
			log.Error("closing what a member had open", "member", s.Member.Name, "err", err)
		}
	}
}
