package orchestrator

import (
	"context"
	"io"
	"sync"

	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// seat is one member's place in the crew: its session, its inbox, and what the
// crew knows of it. It is the member's teammate.Inbox.
type seat struct {
	member *roster.Member
	late   bool // it came when the team ran already
	mate   *teammate.Teammate
	crew   *crew
	unfit  string // why it does not begin in this run; empty: it does
	// instructions are those of its working copy; nil: of the workspace.
	instructions *workspace.Instructions

	// workspace has the workspace tools; nil before the member's first turn.
	workspace   *tools.Set
	mu          sync.Mutex
	permissions permission.Policy // as configured; guarded by mu
	caller      *mcp.Caller       // in calls over MCP; as mate, nil until all of the seat is there
	closers     []func() error    // what the member has open, in the order of opening
	settled     bool              // it looks for work, and what came of its last turn is seen to; it belongs to its goroutine

	life lives.Life
}

// view is what plan is to know of a member, without its login.
//
// A member that is being seen off is not idle: until it is gone its tasks are given
// back one after another, and it must not be handed the first of them again.
func (s *seat) view() plan.Seat {
	now := s.life.State()
	v := plan.Seat{
		Name: s.member.Name, Lead: s.member.Lead, Began: s.crew.watch.Of(s.member.Name).Turn > 0, Idle: now.Idle &&
			now.Leaving == "", Gone: now.Gone != "", GoneFor: now.Gone,
		SelfClaim: s.member.SelfClaim, DependsOn: s.member.DependsOn, Skills: roster.Skills(s.member.Member),
		Nudged: now.Nudged,
	}
	v.Spent, v.LastWord = s.crew.accounts.ledger.Spent(s.member.Name)
	v.Helped, v.Awaited = s.mate != nil && s.mate.Helpers() > 0, s.crew.hooks.background.MayWake(s.member.Name)
	return v
}

// Next gives the next work. While there is none the member is idle, and rests: whoever
// has something for it calls rouse.
func (s *seat) Next(ctx context.Context) (teammate.Work, error) {
	if !s.settled {
		switch now := s.life.State(); {
		case now.Halting != "":
			return teammate.Work{}, io.EOF
		case now.Exit != lives.Stays:
			return teammate.Work{}, now.Exit.LastWork()
		}
		s.crew.work.merges.Settle(ctx, s.member.Name)
		s.settled = true
		s.life.Wait()
		s.crew.loop.Poke()
	}
	w, err := s.life.Take(ctx)
	if err != nil {
		return teammate.Work{}, err
	}
	s.settled = false
	s.crew.work.merges.Freshen(ctx, s.member.Name)
	s.crew.asks.Attention.Calm(ctx, s.member.Name)
	return w, nil
}

// Waiting returns the mail that may be shown in the middle of a turn.
func (s *seat) Waiting(ctx context.Context) ([]agent.Input, error) {
	mail, _, err := s.crew.board.Unread(ctx, s.member.Name)
	if err != nil || len(mail) == 0 {
		return nil, err
	}
	return s.read(ctx, mail)
}

// Taken notes that mail and notes stand in the transcript: ids are those of all that the turn
// was begun with. A crash between the two stores shows the mail again, under an id by which
// the member's history knows it.
func (s *seat) Taken(ctx context.Context, ids []string) error {
	s.crew.accounts.notices.Shown(ids, s.crew.watch.Of(s.member.Name).Pass)
	letters, err := s.crew.notes.Drop(ctx, s.member.Actor(), ids)
	if err != nil || len(letters) == 0 && len(ids) > 0 {
		return err
	}
	return s.crew.store.Mail().Deliver(ctx, s.member.Actor(), letters)
}

// read turns unread mail into inputs. What has become pointless is marked as
// delivered without being shown; what is no news yet is left for later.
func (s *seat) read(ctx context.Context, mail []mail.Message) ([]agent.Input, error) {
	about, err := s.crew.board.Concerned(ctx, mail)
	if err != nil {
		return nil, err
	}
	about = plan.WithUnmerged(about, s.crew.work.merges.OnWay(about))
	show, moot := plan.SortMail(mail, about, s.member.Name)
	if len(moot) > 0 {
		if err := s.crew.store.Mail().Deliver(ctx, s.member.Actor(), moot); err != nil {
			return nil, err
		}
	}
	if len(show) == 0 {
		return nil, nil
	}
	s.crew.notes.Asked(s.member.Name, show)
	in := teamtools.NamesFor(s.member.CurrentAgent()).Inputs(show, about)
	if !s.member.Lead {
		return in, nil
	}
	notes, err := s.crew.notes.Show(ctx)
	if err != nil {
		return nil, err
	}
	in = append(in, notes...)
	s.crew.accounts.notices.Showing(show, in)
	return in, nil
}
