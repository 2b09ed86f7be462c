package crew

import (
	"context"
	"io"

	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Next gives the next work. While there is none the member is idle, and rests: whoever
// has something for it calls rouse.
func (s *Seat) Next(ctx context.Context) (teammate.Work, error) {
	if !s.settled {
		switch now := s.Life.State(); {
		case now.Halting != "":
			return teammate.Work{}, io.EOF
		case now.Exit != lives.Stays:
			return teammate.Work{}, now.Exit.LastWork()
		}
		s.crew.work.Merges.Settle(ctx, s.Member.Name)
		s.settled = true
		s.Life.Wait()
		s.crew.loop.Poke()
	}
	w, err := s.Life.Take(ctx)
	if err != nil {
		return teammate.Work{}, err
	}
	s.settled = false
	s.crew.work.Merges.Freshen(ctx, s.Member.Name)
	s.crew.asks.Attention.Calm(ctx, s.Member.Name)
	return w, nil
}

// Waiting returns the mail that may be shown in the middle of a turn.
func (s *Seat) Waiting(ctx context.Context) ([]agent.Input, error) {
	mail, _, err := s.crew.board.Unread(ctx, s.Member.Name)
	if err != nil || len(mail) == 0 {
		return nil, err
	}
	return s.read(ctx, mail)
}

// Taken notes that mail and notes stand in the transcript: ids are those of all that the turn
// was begun with. A crash between the two stores shows the mail again, under an id by which
// the member's history knows it.
func (s *Seat) Taken(ctx context.Context, ids []string) error {
	s.crew.accounts.Notices.Shown(ids, s.crew.watch.Of(s.Member.Name).Pass)
	letters, err := s.crew.notes.Drop(ctx, s.Member.Actor(), ids)
	if err != nil || len(letters) == 0 && len(ids) > 0 {
		return err
	}
	return s.crew.store.Mail().Deliver(ctx, s.Member.Actor(), letters)
}

// read turns unread mail into inputs. What has become pointless is marked as
// delivered without being shown; what is no news yet is left for later.
func (s *Seat) read(ctx context.Context, mail []mail.Message) ([]agent.Input, error) {
	about, err := s.crew.board.Concerned(ctx, mail)
	if err != nil {
		return nil, err
	}
	about = plan.WithUnmerged(about, s.crew.work.Merges.OnWay(about))
	show, moot := plan.SortMail(mail, about, s.Member.Name)
	if len(moot) > 0 {
		if err := s.crew.store.Mail().Deliver(ctx, s.Member.Actor(), moot); err != nil {
			return nil, err
		}
	}
	if len(show) == 0 {
		return nil, nil
	}
	s.crew.notes.Asked(s.Member.Name, show)
	in := teamtools.NamesFor(s.Member.CurrentAgent()).Inputs(show, about)
	if !s.Member.Lead {
		return in, nil
	}
	notes, err := s.crew.notes.Show(ctx)
	if err != nil {
		return nil, err
	}
	in = append(in, notes...)
	s.crew.accounts.Notices.Showing(show, in)
	return in, nil
}
