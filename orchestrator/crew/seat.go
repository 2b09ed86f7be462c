package crew

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/permission"
)

// Seat is one member's place in the crew: its session, its inbox, and what the
// crew knows of it. It is the member's teammate.Inbox.
type Seat struct {
	Member *roster.Member
	Life   lives.Life

	late  bool // it came when the team ran already
	crew  *Crew
	unfit string // why it does not begin in this run; empty: it does

	mate        *teammate.Teammate // nil until all of the seat is there
	caller      *mcp.Caller        // in calls over MCP; as mate
	workspace   *tools.Set         // nil before the member's first turn, and for agent programs
	mu          sync.Mutex
	permissions permission.Policy // as configured; guarded by mu
	closers     []func() error    // what the member has open, in the order of opening
	settled     bool              // it looks for work, and what came of its last turn is seen to; it belongs to its goroutine
}

// Fill completes a seat with the member's teammate, the rules that the teammate was made with,
// and the member as a caller over MCP. It is called once, by Ports.Outfit.
func (s *Seat) Fill(mate *teammate.Teammate, permissions permission.Policy, caller *mcp.Caller) {
	s.mate, s.permissions, s.caller = mate, permissions, caller
}

// Mate is the member's teammate; nil: the seat is not complete yet.
func (s *Seat) Mate() *teammate.Teammate { return s.mate }

// Caller is the member as a caller over MCP; nil: the seat is not complete yet.
func (s *Seat) Caller() *mcp.Caller { return s.caller }

// KeepAway notes why the member does not begin in this run. Ports.Outfit calls it.
func (s *Seat) KeepAway(reason string) { s.unfit = reason }

// OnClose adds what Close is to close.
func (s *Seat) OnClose(closer func() error) { s.closers = append(s.closers, closer) }

// UseWorkspace notes the tools by which the member works in the workspace. They are closed
// with the seat.
func (s *Seat) UseWorkspace(set *tools.Set) {
	s.workspace = set
	s.OnClose(set.Close) // the member's goroutine is gone before it is called
}

// Lingers reports whether commands of the member's tools go on behind its turns.
func (s *Seat) Lingers() bool { return s.workspace != nil && s.workspace.Lingers() }

// view is what plan is to know of a member, without its login.
//
// A member that is being seen off is not idle: until it is gone its tasks are given
// back one after another, and it must not be handed the first of them again.
func (s *Seat) view() plan.Seat {
	now := s.Life.State()
	v := plan.Seat{
		Name: s.Member.Name, Lead: s.Member.Lead, Began: s.crew.watch.Of(s.Member.Name).Turn > 0, Idle: now.Idle &&
			now.Leaving == "", Gone: now.Gone != "", GoneFor: now.Gone,
		SelfClaim: s.Member.SelfClaim, DependsOn: s.Member.DependsOn, Skills: roster.Skills(s.Member.Member),
		Nudged: now.Nudged,
	}
	v.Spent, v.LastWord = s.crew.accounts.Ledger.Spent(s.Member.Name)
	v.Helped, v.Awaited = s.mate != nil && s.mate.Helpers() > 0, s.crew.hooks.Background.MayWake(s.Member.Name)
	return v
}

// TeamTools are the tools of the team that the member has under such names.
func (s *Seat) TeamTools(names teamtools.ToolNames) ([]teamtools.Tool, error) {
	return s.crew.board.Tools(names, teamtools.Caller{Member: s.Member, Act: s.Actor})
}

// Actor is the member as it changes the team.
func (s *Seat) Actor(callID string) teamtools.Actor {
	a := teamtools.Actor{
		Actor: actors.Actor{Name: s.Member.Name, Session: s.Member.Session.Epoch, CallID: callID},
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
			return s.mate.Fire(ctx, p)
		},
	}
	// Task hooks of the lead carry no teammate, and cannot stop it: a team without
	// its lead has nobody who could end it in order.
	if a.Lead = s.Member.Lead; !s.Member.Lead {
		a.Teammate, a.Team, a.Halt = s.Member.Name, s.crew.team().Name, s.Life.Halt
	}
	return a
}

// Permissions are the member's configured rules.
func (s *Seat) Permissions() permission.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.permissions
}

// Reconfigure gives the member other configured rules, from its next decision on.
func (s *Seat) Reconfigure(p permission.Policy) {
	s.mate.Rights().Reconfigure(s.Permissions(), p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permissions = p
}

// Later puts a notice into a member's own mailbox, once per id: what a helper
// that worked beside it came to.
func (s *Seat) Later(ctx context.Context, id, text string) error {
	by := actors.Actor{CallID: actors.CallID("helper", s.Member.Name+" "+id)}
	_, err := s.crew.store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{s.Member.Name}, Kind: mail.HelperMessage, Text: text, Summary: mail.Summary(text),
	})
	return err
}

// Close closes what the member has open, the last first: what was opened last may use
// what was opened before. The member's goroutine calls it last, or whoever knows that the
// member has none.
func (s *Seat) Close(log *slog.Logger) {
	closers := s.closers
	s.closers = nil
	for _, closer := range slices.Backward(closers) {
		if err := closer(); err != nil && !errors.Is(err, os.ErrClosed) {
			log.Error("closing what a member had open", "member", s.Member.Name, "err", err)
		}
	}
}
