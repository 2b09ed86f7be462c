package orchestrator

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// What the crew hands to members that are idle, and says to the lead.

// handClaim claims a ready task for an idle member. If somebody was faster,
// the next look finds it something else.
func (c *crew) handClaim(ctx context.Context, s *seat, t tasks.Task) error {
	by := s.member.Actor()
	terms := c.board.TermsOf(s.member.Name)
	t, err := c.store.Claim(ctx, by, t.ID, tasks.Claim{Member: s.member.Name, Max: terms.Max, Skills: terms.Skills})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed) {
			return err
		}
		c.loop.Poke()
		return nil
	}
	return c.hand(s, teammate.Work{Cause: agent.ByTask, Inputs: []agent.Input{
		{Kind: agent.FromTask, Text: teamtools.NamesFor(s.member.CurrentAgent()).ClaimText(t)},
	}}, "")
}

// hand gives an idle member work. mark is set for a nudge, which is counted under it.
func (c *crew) hand(s *seat, w teammate.Work, mark string) error {
	c.switchAgent(s)
	c.ledger.Begin(s.member.Name)
	c.logins.EndWait()
	if s.member.Lead {
		c.notes.GivenTurn(w.Inputs)
	}
	c.mu.Lock()
	c.resting = nil
	c.mu.Unlock()
	c.asks.Attention.Clear(s.member.Name)
	c.asks.Recheck() // it may have needed attention
	s.life.Give(w, mark)
	return nil
}

// note puts a notice into the lead's mailbox once per mark.
func (c *crew) note(ctx context.Context, key, mark, text string) error {
	by := actors.Actor{CallID: actors.CallID(key, mark)}
	out := mail.Outgoing{
		To: []string{c.seats()[0].member.Name}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	}
	if _, err := c.store.Mail().Send(ctx, by, out); err != nil {
		return err
	}
	// The notice comes first: a crash in between sends it again under the same call
	// id, which does nothing, while the other order could lose it.
	if err := c.store.Put(ctx, key, rawjson.Encode(mark)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key == keyTold {
		c.told = mark
	} else {
		c.reported = mark
	}
	c.loop.Poke()
	return nil
}

// askForReport lists what was done once more, because the lead may have forgotten
// it, or begun anew since.
func (c *crew) askForReport(ctx context.Context, mark string) error {
	all, err := c.store.List(ctx)
	if err != nil {
		return err
	}
	return c.note(ctx, keyReported, mark, teamtools.ReportText(all))
}

// handNotes gives the idle lead a turn for the notes, and nothing else.
func (c *crew) handNotes(ctx context.Context, lead *seat) error {
	in, err := c.notes.Take(ctx)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		c.loop.Poke() // they have gone along with something else
		return nil
	}
	c.notices.Showing(nil, in)
	c.notices.Digest()
	return c.hand(lead, teammate.Work{Cause: agent.ByMessage, Inputs: in}, "")
}
