package crew

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// hand gives an idle member work. mark is set only for a nudge, which is counted under
// it.
//
// The agent is switched first: the member makes its agent when it takes the work. Give
// comes last, because from then on the member's goroutine may run. Whoever calls hand has
// stored what must not be repeated after a crash; the work itself is not stored.
func (d *director) hand(s *Seat, w teammate.Work, mark string) {
	d.c.switchAgent(s)
	for _, p := range partsOf[Assigner](d.c.deps.Parts) {
		p.Assigned(s.Member, w)
	}
	d.resting = nil
	s.Life.Give(w, mark)
}

// handMail gives an idle member all its mail as one prompt.
func (d *director) handMail(ctx context.Context, s *Seat) error {
	u, err := s.unread(ctx, true)
	if err != nil {
		return err
	}
	in, err := s.read(ctx, u, true)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		d.c.deps.Loop.Poke() // all of it was obsolete: plan again
		return nil
	}
	if _, held := d.c.deps.Holds.Of(s.Member.Name); held { // the operator's mail ends the hold: see Scene.LiftHolds
		if err := d.c.deps.Holds.Lift(ctx, s.Member.Name, actors.Operator); err != nil {
			return err
		}
	}
	d.hand(s, teammate.Work{Cause: plan.CauseOf(u.mail), Inputs: in}, "")
	return nil
}

// handClaim claims a ready task for an idle member. If another member has claimed it
// already, the next round finds other work.
func (d *director) handClaim(ctx context.Context, s *Seat, t tasks.Task) error {
	t, err := d.c.deps.Board.Claim(ctx, teamtools.Actor{Actor: s.Member.Actor()}, t.ID, s.Member.Name)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed) {
			return err
		}
		d.c.deps.Loop.Poke()
		return nil
	}
	d.hand(s, teammate.Work{Cause: events.ByTask, Inputs: []agent.Input{
		{Kind: agent.FromTask, Text: teamtools.NamesFor(s.Member.CurrentAgent()).ClaimText(t)},
	}}, "")
	return nil
}

// handNotes gives the idle lead a turn for its notes alone.
func (d *director) handNotes(ctx context.Context, lead *Seat) error {
	notes, err := d.c.deps.Notes.Take(ctx)
	if err != nil {
		return err
	}
	if len(notes) == 0 {
		d.c.deps.Loop.Poke() // another prompt has contained them
		return nil
	}
	lead.lane.Shown(letters(nil, notes), true)
	in := teamtools.NoteInputs(notes)
	d.c.deps.Notices.Showing(nil, in)
	d.hand(lead, teammate.Work{Cause: events.ByMessage, Inputs: in, Digest: true}, "")
	return nil
}

// handQuestions reminds an idle member of the questions that it has not answered. It
// counts the reminder first, so that a crash loses a reminder instead of adding a turn.
func (d *director) handQuestions(ctx context.Context, s *Seat, mark string) error {
	all, err := d.c.deps.Asks.Remind(ctx, s.Member.Name)
	if err != nil {
		return err
	}
	text := teamtools.NamesFor(s.Member.CurrentAgent()).UnansweredText(all)
	d.hand(s, teammate.Work{Cause: events.ByNudge, Inputs: []agent.Input{
		{Kind: agent.FromCovey, Text: text},
	}}, mark)
	return nil
}

// handRetry lets a locked-out member continue its turn. The member kept its input; mail that
// came meanwhile is added.
func (d *director) handRetry(ctx context.Context, s *Seat) error {
	u, err := s.unread(ctx, true)
	if err != nil {
		return fmt.Errorf("the mail of %s: %w", s.Member.Name, err)
	}
	in, err := s.read(ctx, u, true)
	if err != nil {
		return fmt.Errorf("the mail of %s: %w", s.Member.Name, err)
	}
	d.c.TryNow(s)
	goOn := agent.Input{Kind: agent.FromCovey, Text: agent.GoOn}
	if lockout := d.c.deps.Logins.Lockout(s.Member.Name); lockout != nil && lockout.Failed {
		goOn.Text = agent.TryAgain
	}
	d.hand(s, teammate.Work{Cause: events.ByResume, Inputs: append([]agent.Input{goOn}, in...)}, "")
	return nil
}

// handLast prompts a member to finish and hand over its work.
func (d *director) handLast(s *Seat) {
	in, ok := d.c.deps.Ledger.HandOver(s.Member.Name)
	if !ok { // the limit was just raised
		d.c.deps.Loop.Poke()
		return
	}
	d.hand(s, teammate.Work{Cause: events.ByNudge, Inputs: []agent.Input{in}}, "")
}

// mailLeadOnce mails a notice to the lead once per mark. If the lead's mailbox is full,
// the next run tries again.
func (d *director) mailLeadOnce(ctx context.Context, key, mark, text string) error {
	sent, err := d.c.mail(ctx, actors.Actor{CallID: actors.CallID(key, mark)}, d.c.deps.Seats.Lead().Member.Name, text)
	if err != nil {
		return err
	}
	// Send the notice before the mark is stored: after a crash in between it is sent
	// again under the same call id, which has no effect. The other order could lose it.
	if sent {
		if err := d.c.deps.Store.Put(ctx, key, texts.Encode(mark)); err != nil {
			return err
		}
	}
	if key == keyTold {
		d.told = mark
	} else {
		d.reported = mark
	}
	d.c.deps.Loop.Poke()
	return nil
}

// judge asks the gates before the team finishes if files were changed without a task, because no
// gate has judged these. For each changed folder it makes a task of the goal for its member and
// completes it. If the gates refuse, the member has to do it. That happens once for each goal; judge
// reports whether it did.
//
// The crew's loop waits meanwhile. The team is at rest, so only an order could want it.
func (d *director) judge(ctx context.Context, m plan.Move) (bool, error) {
	if !m.Done || d.purpose.Unjudged == nil {
		return false, nil
	}
	goal, err := specs.ReadGoal(ctx, d.c.deps.Store)
	mark := fmt.Sprint("unjudged ", goal.No)
	if err != nil || d.told == mark {
		return false, err
	}
	var list []tasks.New
	for _, member := range d.purpose.Unjudged(ctx) {
		s, ok := d.c.deps.Seats.Of(member)
		if !ok || s.Life.State().Gone != "" {
			return false, nil // nobody could fix what gates refuse
		}
		list = append(list, teamtools.UnjudgedTask(goal.Given, member, s.Member.Lead))
	}
	if list == nil {
		return false, nil
	}
	// The mark is stored last: after a crash before that, the same call makes no other task.
	made, err := d.c.deps.Store.Add(ctx, actors.Actor{CallID: actors.CallID(keyTold, mark)}, list)
	if err != nil {
		return false, err
	}
	refused, err := d.judgeAll(ctx, made)
	if err != nil {
		return false, err
	}
	if len(refused) == 0 { // the lead has already said what was done
		all, err := d.c.deps.Store.List(ctx)
		if err != nil {
			return false, err
		}
		d.reported = plan.Fingerprint(all)
		if err := d.c.deps.Store.Put(ctx, keyReported, texts.Encode(d.reported)); err != nil {
			return false, err
		}
	}
	if err := d.c.deps.Store.Put(ctx, keyTold, texts.Encode(mark)); err != nil {
		return false, err
	}
	d.told = mark
	d.c.deps.Loop.Poke()
	for _, t := range made {
		if text := refused[t.ID]; text != "" {
			if _, err := d.c.mail(ctx, actors.Actor{CallID: actors.CallID(keyTold, mark+" "+t.ID)}, t.Owner, text); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// judgeAll completes tasks and returns the messages for the owners of those that are refused, by id.
// An empty one means that the owner has to complete the task itself.
func (d *director) judgeAll(ctx context.Context, made []tasks.Task) (refused map[string]string, err error) {
	refused = map[string]string{}
	for _, t := range made {
		owner, ok := d.c.deps.Seats.Of(t.Owner)
		if !ok {
			refused[t.ID] = ""
			continue
		}
		feedback, err := d.purpose.Judge(ctx, owner, t.ID)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			d.c.deps.Log.Warn("judge work without a task", "task", t.ID, "err", err)
			refused[t.ID] = ""
		case feedback != "":
			refused[t.ID] = fmt.Sprintf("Task %s is not completed: %s", t.ID, feedback)
		}
	}
	return refused, nil
}

// askForReport asks the lead for its report. It lists the completed tasks again, because
// the lead may have lost its context since.
func (d *director) askForReport(ctx context.Context, mark string) error {
	all, err := d.c.deps.Store.List(ctx)
	if err != nil {
		return err
	}
	return d.mailLeadOnce(ctx, keyReported, mark, teamtools.ReportText(all))
}
