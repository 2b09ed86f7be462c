package crew

import (
	"context"
	"io"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Next returns the next work. While there is none, the member is idle and needs no
// goroutine until Life.Give gets work for it.
//
// It may be called again for the same wait, after ErrResting; waiting makes the steps
// before a wait run once. The order of these steps matters: what the member has finished is
// harvested before it counts as idle, so the loop never sees a team at rest that has
// unharvested work.
func (s *Seat) Next(ctx context.Context) (teammate.Work, error) {
	if w, ok := s.inherit(); ok {
		return w, nil
	}
	if !s.waiting {
		switch now := s.Life.State(); {
		case now.Halting != "":
			return teammate.Work{}, io.EOF
		case now.Exit != members.Stays:
			return teammate.Work{}, now.Exit.LastWork()
		}
		s.crew.deps.Merges.HarvestCompleted(ctx, s.Member.Name)
		s.waiting = true
		s.rotation.due = s.dueForRotation(ctx)
		s.Life.Wait()
		s.crew.deps.Loop.Poke()
	}
	w, err := s.Life.Take(ctx)
	if err != nil {
		return teammate.Work{}, err
	}
	s.waiting = false
	s.crew.deps.Merges.Freshen(ctx, s.Member.Name)
	s.crew.deps.Asks.Attention.WithdrawQuestion(ctx, s.Member.Name)
	return w, nil
}

// Waiting returns unread mail that may be shown during a turn. Reminders wait for its end.
func (s *Seat) Waiting(ctx context.Context) ([]agent.Input, error) {
	for {
		u, err := s.unread(ctx, false)
		if err != nil || u.whole && len(u.mail) == 0 {
			return nil, err
		}
		if u.whole {
			return s.read(ctx, u, false)
		}
		if err := s.await(ctx); err != nil {
			return nil, err
		}
	}
}

// Taken records that the transcript holds mail and notes; ids are those of all inputs of
// the turn. After a crash between the two stores the mail is shown again, under an id
// that the member's history knows.
func (s *Seat) Taken(ctx context.Context, ids []string) error {
	s.crew.deps.Notices.Shown(ids, s.crew.deps.State.Position(s.Member.Name).Pass)
	letters, err := s.crew.deps.Notes.Drop(ctx, s.Member.Actor(), ids)
	if err != nil || len(letters) == 0 && len(ids) > 0 {
		return err
	}
	return s.crew.deps.Store.Mail().Deliver(ctx, s.Member.Actor(), letters)
}

// read turns unread mail into inputs, with which a turn begins or which come within one. It marks
// obsolete mail as delivered without showing it, and leaves mail about unmerged work for later.
func (s *Seat) read(ctx context.Context, u unread, begins bool) ([]agent.Input, error) {
	about, err := s.crew.deps.Board.Concerned(ctx, u.mail)
	if err != nil {
		return nil, err
	}
	about = plan.WithUnmerged(about, s.crew.deps.Merges.OnWay(about))
	show, moot := plan.SortMail(u.mail, about, s.Member.Name)
	if len(moot) > 0 {
		if err := s.crew.deps.Store.Mail().Deliver(ctx, s.Member.Actor(), moot); err != nil {
			return nil, err
		}
	}
	if len(show) == 0 {
		return nil, nil
	}
	// Answers take effect before the member reads them, for example the mode of an approved
	// plan. After a crash in between they take effect again, which changes nothing.
	if err := s.crew.deps.Asks.ActOn(ctx, show); err != nil {
		return nil, err
	}
	s.crew.deps.Notes.Asked(s.Member.Name, show)
	s.lane.Shown(letters(show, u.notes), begins)
	in := teamtools.NamesFor(s.Member.CurrentAgent()).Inputs(show, about)
	if !s.Member.Lead {
		return in, nil
	}
	in = append(in, teamtools.NoteInputs(u.notes)...)
	s.crew.deps.Notices.Showing(show, in)
	return in, nil
}
