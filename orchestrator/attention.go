package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// alarms tell the lead and people of members that cannot go on, and of questions that only
// they can answer.
type alarms struct{ team *crew }

// Members in trouble: who needs attention, who is told of it, and when it is over.

// tellLeadOf puts what happened to a member into the lead's mailbox, unless it
// happened to the lead itself.
// It is sent without a call id: the same thing may happen again.
func (a alarms) tellLeadOf(ctx context.Context, s *seat, text string) error {
	if s.member.Lead {
		return nil
	}
	_, err := a.team.store.Mail().Send(ctx, actors.Actor{}, mail.Outgoing{
		To: []string{a.team.seating.lead().member.Name}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	})
	return err
}

// needsAttention marks a member that only a person, or mail, can help on.
func (a alarms) needsAttention(ctx context.Context, s *seat, reason string) error {
	return errors.Join(a.team.asks.Attention.Need(ctx, s.member.Name, reason, a.team.work.writes.Blame(s.member)),
		a.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s needs attention: %s", s.member.Name, reason)))
}

// giveUpOn is needsAttention for a member that does not know it itself: the
// journal and the Notification hooks are told as well.
func (a alarms) giveUpOn(ctx context.Context, s *seat, reason string) error {
	n := hooks.NotificationInput{
		Message: s.member.Name + " needs attention: " + reason, NotificationType: "agent_needs_input",
	}
	turn := s.turn()
	a.team.journal.Append(agent.Event{Member: s.member.Name, Turn: turn, Data: agent.NeedsAttention{Reason: reason}})
	a.team.journal.Append(agent.Event{
		Member: s.member.Name, Turn: turn, Data: agent.Notified{Kind: n.NotificationType, Message: n.Message},
	})
	// The hooks may take long, and the crew must not wait: other members have work.
	a.team.members.Go(func() {
		if _, err := s.mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			a.team.log.Warn("Notification hooks", "member", s.member.Name, "err", err)
		}
	})
	return a.needsAttention(ctx, s, reason)
}
