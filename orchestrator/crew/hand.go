package crew

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// hand gives an idle member work. mark is set for a nudge, which is counted under it.
func (d *director) hand(s *Seat, w teammate.Work, mark string) {
	d.c.switchAgent(s)
	d.c.accounts.Ledger.Begin(s.Member.Name)
	d.c.logins.EndWait()
	if s.Member.Lead {
		d.c.notes.GivenTurn(w.Inputs)
	}
	d.resting = nil
	d.c.asks.Attention.Clear(s.Member.Name)
	d.c.asks.Recheck() // it may have needed attention
	s.Life.Give(w, mark)
}

// handMail gives an idle member all its mail as one prompt.
func (d *director) handMail(ctx context.Context, s *Seat) error {
	mail, _, err := d.c.board.Unread(ctx, s.Member.Name)
	if err != nil {
		return err
	}
	in, err := s.read(ctx, mail)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		d.c.loop.Poke() // all of it was moot: look again
		return nil
	}
	if _, held := d.c.holds.Of(s.Member.Name); held { // and called by the operator: see holds.Keeps
		if err := d.c.holds.Lift(ctx, s.Member.Name, actors.Operator); err != nil {
			return err
		}
	}
	d.hand(s, teammate.Work{Cause: plan.CauseOf(mail), Inputs: in}, "")
	return nil
}

// handClaim claims a ready task for an idle member. If somebody was faster,
// the next look finds it something else.
func (d *director) handClaim(ctx context.Context, s *Seat, t tasks.Task) error {
	by := s.Member.Actor()
	terms := d.c.board.TermsOf(s.Member.Name)
	t, err := d.c.store.Claim(ctx, by, t.ID, tasks.Claim{Member: s.Member.Name, Max: terms.Max, Skills: terms.Skills})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed) {
			return err
		}
		d.c.loop.Poke()
		return nil
	}
	d.hand(s, teammate.Work{Cause: agent.ByTask, Inputs: []agent.Input{
		{Kind: agent.FromTask, Text: teamtools.NamesFor(s.Member.CurrentAgent()).ClaimText(t)},
	}}, "")
	return nil
}

// handNotes gives the idle lead a turn for the notes, and nothing else.
func (d *director) handNotes(ctx context.Context, lead *Seat) error {
	in, err := d.c.notes.Take(ctx)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		d.c.loop.Poke() // they have gone along with something else
		return nil
	}
	d.c.accounts.Notices.Showing(nil, in)
	d.c.accounts.Notices.Digest()
	d.hand(lead, teammate.Work{Cause: agent.ByMessage, Inputs: in}, "")
	return nil
}

// handQuestions reminds an idle member of the questions that it has not answered. It is
// counted first: a crash in between costs one reminder, and not one more turn.
func (d *director) handQuestions(ctx context.Context, s *Seat, mark string) error {
	all, err := d.c.asks.Remind(ctx, s.Member.Name)
	if err != nil {
		return err
	}
	text := teamtools.NamesFor(s.Member.CurrentAgent()).UnansweredText(all)
	d.hand(s, teammate.Work{Cause: agent.ByNudge, Inputs: []agent.Input{
		{Kind: agent.FromCovey, Text: text},
	}}, mark)
	return nil
}

// handOn lets a member go on that was locked out. What it was asked it has kept
// itself; mail that came in meanwhile goes along.
func (d *director) handOn(ctx context.Context, s *Seat) error {
	mail, _, err := d.c.board.Unread(ctx, s.Member.Name)
	if err != nil {
		return fmt.Errorf("the mail of %s: %w", s.Member.Name, err)
	}
	in, err := s.read(ctx, mail)
	if err != nil {
		return fmt.Errorf("the mail of %s: %w", s.Member.Name, err)
	}
	d.c.TryNow(s)
	goOn := agent.Input{Kind: agent.FromCovey, Text: teammate.GoOn}
	if lockout := d.c.logins.State(s.Member.Name).Lockout; lockout != nil && lockout.Failed {
		goOn.Text = teammate.TryAgain
	}
	d.hand(s, teammate.Work{Cause: agent.ByResume, Inputs: append([]agent.Input{goOn}, in...)}, "")
	return nil
}

// handLast gives a member the prompt to finish and to hand over.
func (d *director) handLast(s *Seat) {
	in, ok := d.c.accounts.Ledger.HandOver(s.Member.Name)
	if !ok { // the limit was raised just now
		d.c.loop.Poke()
		return
	}
	d.hand(s, teammate.Work{Cause: agent.ByNudge, Inputs: []agent.Input{in}}, "")
}

// note puts a notice into the lead's mailbox once per mark.
func (d *director) note(ctx context.Context, key, mark, text string) error {
	by := actors.Actor{CallID: actors.CallID(key, mark)}
	out := mail.Outgoing{
		To: []string{d.c.seats.Lead().Member.Name}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	}
	if _, err := d.c.store.Mail().Send(ctx, by, out); err != nil {
		return err
	}
	// The notice comes first: a crash in between sends it again under the same call
	// id, which does nothing, while the other order could lose it.
	if err := d.c.store.Put(ctx, key, notation.Encode(mark)); err != nil {
		return err
	}
	if key == keyTold {
		d.told = mark
	} else {
		d.reported = mark
	}
	d.c.loop.Poke()
	return nil
}

// askForReport lists what was done once more, because the lead may have forgotten
// it, or begun anew since.
func (d *director) askForReport(ctx context.Context, mark string) error {
	all, err := d.c.store.List(ctx)
	if err != nil {
		return err
	}
	return d.note(ctx, keyReported, mark, teamtools.ReportText(all))
}
