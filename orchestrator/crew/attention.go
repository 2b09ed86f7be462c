package crew

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// alarms tell the lead and people of members that cannot go on, and of questions that only
// they can answer.
type alarms struct{ team *Crew }

// Members in trouble: who needs attention, who is told of it, and when it is over.

// tellLeadOf puts what happened to a member into the lead's mailbox, unless it
// happened to the lead itself.
// It is sent without a call id: the same thing may happen again.
func (a alarms) tellLeadOf(ctx context.Context, s *Seat, text string) error {
	if s.Member.Lead {
		return nil
	}
	_, err := a.team.store.Mail().Send(ctx, actors.Actor{}, mail.Outgoing{
		To: []string{a.team.seats.Lead().Member.Name}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	})
	return err
}

// needsAttention marks a member that only a person, or mail, can help on.
func (a alarms) needsAttention(ctx context.Context, s *Seat, reason string) error {
	return errors.Join(a.team.asks.Attention.Need(ctx, s.Member.Name, reason, a.team.work.Writes.Blame(s.Member)),
		a.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s needs attention: %s", s.Member.Name, reason)))
}

// giveUpOn is needsAttention for a member that does not know it itself: the
// journal and the Notification hooks are told as well.
func (a alarms) giveUpOn(ctx context.Context, s *Seat, reason string) error {
	n := hooks.NotificationInput{
		Message: s.Member.Name + " needs attention: " + reason, NotificationType: "agent_needs_input",
	}
	turn := s.Turn()
	a.team.journal.Append(agent.Event{Member: s.Member.Name, Turn: turn, Data: agent.NeedsAttention{Reason: reason}})
	a.team.journal.Append(agent.Event{
		Member: s.Member.Name, Turn: turn, Data: agent.Notified{Kind: n.NotificationType, Message: n.Message},
	})
	// The hooks may take long, and the crew must not wait: other members have work.
	a.team.group.Go(func() {
		if _, err := s.mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			a.team.log.Warn("Notification hooks", "member", s.Member.Name, "err", err)
		}
	})
	return a.needsAttention(ctx, s, reason)
}

// GiveUpOn marks a member that only a person can help on, and tells the lead, the journal and
// the Notification hooks.
func (c *Crew) GiveUpOn(ctx context.Context, member, reason string) {
	if s, ok := c.seats.Of(member); ok {
		c.act(ctx, s, (alarms{c}).giveUpOn(ctx, s, reason))
	}
}

// RequestClosed does what follows from the answer to a request. It may be called again
// after a crash in between.
func (c *Crew) RequestClosed(ctx context.Context, r requests.Request) error {
	switch r.Kind {
	case requests.AskPlan:
		return c.asks.Plans.Settled(ctx, r)
	case requests.AskShutdown:
		departures{c}.shutdownSettled(ctx, r)
	case requests.AskAttention:
		(alarms{c}).reassured(r)
	case requests.AskMerge:
		return c.work.Merges.Answered(ctx, r)
	}
	return nil
}

// reassured takes the attention from a member that a person has told to go on while it
// is in a turn: it reads so there, and no new work would take it away. An idle member loses
// it with the turn that the person's word begins.
func (a alarms) reassured(r requests.Request) {
	s, ok := a.team.seats.Of(r.Member)
	if !ok || !r.Approved() {
		return
	}
	if now := s.Life.State(); !now.Idle && now.Gone == "" {
		a.team.asks.Attention.ClearReason(r.Member)
	}
	a.team.work.Writes.Acquit(s.Member)
}

// NotifyPeople tells the Notification hooks, and through the journal whoever is
// attached, of a question for a person. Calls that ask for permission have
// their own notice, in the turn that they belong to.
func (c *Crew) NotifyPeople(ctx context.Context, member string, r requests.Request) {
	s, ok := c.seats.Of(member)
	if !ok {
		s = c.seats.Lead()
	}
	n := hooks.NotificationInput{
		Message:          fmt.Sprintf("%s; `covey inbox approve %s` or `deny` answers", notation.FirstLine(r.Text), r.ID),
		NotificationType: "agent_needs_input",
	}
	c.journal.Append(agent.Event{
		Member: member, Turn: s.Turn(), Data: agent.Notified{Kind: n.NotificationType, Message: n.Message},
	})
	if s.mate == nil {
		return
	}
	// The hooks may take long, and nobody waits for them but the end of the team.
	ctx, done := c.asks.UntilEnd(ctx)
	if !c.group.Go(func() {
		defer done()
		if _, err := s.mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			c.log.Warn("Notification hooks", "member", s.Member.Name, "err", err)
		}
	}) {
		done()
	}
}
