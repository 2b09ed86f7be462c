package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// newInbox makes the inbox of a crew.
func newInbox(o *Orchestrator, c *crew) *inbox.Inbox {
	return inbox.New(o.team(), inbox.Ports{
		Store: c.store, Clock: c.clock, Log: c.log, Changed: c.loop.Poke, Go: c.members.Go,
		Attached: func() bool { return c.control != nil && c.control.Attached() > 0 },
		Member:   c.seating.member, Gone: c.seating.goneFor, Lend: c.lendSlot, Notify: (alarms{c}).notifyPeople, Closed: c.requestClosed,
		Completer: func(ctx context.Context, in hooks.Input) (who string, completes bool) {
			who, says := c.completerOf(ctx, in)
			return who, says || o.completesOnPass()
		},
		Lead:    func() *roster.Member { return c.seating.lead().member },
		Letters: mail.Folder(o.place.Mail()),
		SetMode: func(member, mode string) error {
			if s, ok := c.seating.of(member); ok && s.mate != nil {
				return s.mate.Rights().SetMode(mode)
			}
			return nil
		},
		Files: func(ctx context.Context, member string) (tree string, err error) {
			s, ok := c.seating.of(member)
			if !ok {
				return "", nil
			}
			return c.work.merges.TreeOf(ctx, s.member)
		},
	})
}

// requestClosed does what follows from the answer to a request. It may be called again
// after a crash in between.
func (c *crew) requestClosed(ctx context.Context, r requests.Request) error {
	switch r.Kind {
	case requests.AskPlan:
		return c.asks.Plans.Settled(ctx, r)
	case requests.AskShutdown:
		departures{c}.shutdownSettled(ctx, r)
	case requests.AskAttention:
		(alarms{c}).reassured(r)
	case requests.AskMerge:
		return c.work.merges.Answered(ctx, r)
	}
	return nil
}

// reassured takes the attention from a member that a person has told to go on while it
// is in a turn: it reads so there, and no new work would take it away. An idle member loses
// it with the turn that the person's word begins.
func (a alarms) reassured(r requests.Request) {
	s, ok := a.team.seating.of(r.Member)
	if !ok || !r.Approved() {
		return
	}
	if now := s.life.State(); !now.Idle && now.Gone == "" {
		a.team.asks.Attention.ClearReason(r.Member)
	}
	a.team.work.writes.Acquit(s.member)
}

// notifyPeople tells the Notification hooks, and through the journal whoever is
// attached, of a question for a person. Calls that ask for permission have
// their own notice, in the turn that they belong to.
func (a alarms) notifyPeople(ctx context.Context, member string, r requests.Request) {
	s, ok := a.team.seating.of(member)
	if !ok {
		s = a.team.seating.lead()
	}
	n := hooks.NotificationInput{
		Message:          fmt.Sprintf("%s; `covey inbox approve %s` or `deny` answers", notation.FirstLine(r.Text), r.ID),
		NotificationType: "agent_needs_input",
	}
	a.team.journal.Append(agent.Event{
		Member: member, Turn: s.turn(), Data: agent.Notified{Kind: n.NotificationType, Message: n.Message},
	})
	if s.mate == nil {
		return
	}
	// The hooks may take long, and nobody waits for them but the end of the team.
	ctx, done := a.team.asks.UntilEnd(ctx)
	if !a.team.members.Go(func() {
		defer done()
		if _, err := s.mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			a.team.log.Warn("Notification hooks", "member", s.member.Name, "err", err)
		}
	}) {
		done()
	}
}
