package crew

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// tellLeadOf mails the lead what happened to a member, unless the member is the lead. The
// mail has no call id, because the same event may happen again.
func (c *Crew) tellLeadOf(ctx context.Context, s *Seat, text string) error {
	if s.Member.Lead {
		return nil
	}
	_, err := c.mail(ctx, actors.Actor{}, c.deps.Seats.Lead().Member.Name, text)
	return err
}

// mail mails a member a notice. A full mailbox is no error, because the loop must not end the
// team over a member that is slow to read: sent is then false.
func (c *Crew) mail(ctx context.Context, by actors.Actor, to, text string) (sent bool, err error) {
	_, err = c.deps.Store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{to}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	})
	if errors.Is(err, tasks.ErrFull) {
		c.deps.Log.Warn("a member cannot be told", "member", to, "notice", text, "err", err)
		return false, nil
	}
	return err == nil, err
}

// needsAttention marks a member that only a person or new mail can help, and tells the
// lead.
func (c *Crew) needsAttention(ctx context.Context, s *Seat, reason string) error {
	return errors.Join(c.deps.Asks.Attention.Need(ctx, s.Member.Name, reason),
		c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s needs attention: %s", s.Member.Name, reason)))
}

// giveUpOn is needsAttention for a trouble that the member did not report itself: it also
// writes to the journal and fires the Notification hooks. kind is events.NeedsAttention.Kind.
func (c *Crew) giveUpOn(ctx context.Context, s *Seat, reason, kind string) error {
	n := hooks.NotificationInput{
		Message: s.Member.Name + " needs attention: " + reason, NotificationType: "agent_needs_input",
	}
	s.journal(events.NeedsAttention{Reason: reason, Kind: kind})
	s.journal(events.Notification{Kind: n.NotificationType, Message: n.Message})
	c.notify(ctx, s, n)
	return c.needsAttention(ctx, s, reason)
}

// notify fires the Notification hooks of a member. Only the end of the crew waits for them, because
// they may be slow.
func (c *Crew) notify(ctx context.Context, s *Seat, n hooks.NotificationInput) {
	c.deps.Group.Go(func() {
		if _, err := s.occupant.Mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			c.deps.Log.Warn("Notification hooks", "member", s.Member.Name, "err", err)
		}
	})
}

// GiveUpOn marks a member that only a person can help, and notifies the lead, the journal
// and the Notification hooks.
func (c *Crew) GiveUpOn(ctx context.Context, member, reason string) {
	if s, ok := c.deps.Seats.Of(member); ok {
		c.logError(ctx, s, c.giveUpOn(ctx, s, reason, ""))
	}
}

// answered acts on the answer to a request, and tells the parts. It implements inbox.Apply.
func (c *Crew) answered(ctx context.Context, r requests.Request) error {
	switch r.Kind {
	case requests.AskShutdown:
		c.shutdownAnswered(ctx, r)
	case requests.AskAttention:
		c.clearApproved(r)
	}
	return tell(c, func(p Answerer) error { return p.Answered(ctx, r) })
}

// clearApproved clears the attention of a member that a person has told to continue during
// its turn. An idle member loses it when the turn begins that the answer causes.
func (c *Crew) clearApproved(r requests.Request) {
	s, ok := c.deps.Seats.Of(r.Member)
	if !ok || !r.Approved() {
		return
	}
	if now := s.Life.State(); !now.Idle && now.Gone == "" {
		c.deps.Asks.Attention.ClearReason(r.Member)
	}
}
