package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// notifyPeople tells the Notification hooks, and through the journal whoever is
// attached, of a question for a person. Calls that ask for permission have
// their own notice, in the turn that they belong to.
func (c *crew) notifyPeople(ctx context.Context, member string, r requests.Request) {
	s, ok := c.seat(member)
	if !ok {
		s = c.seats()[0]
	}
	n := hooks.NotificationInput{
		Message:          fmt.Sprintf("%s; `covey inbox approve %s` or `deny` answers", wording.FirstLine(r.Text), r.ID),
		NotificationType: "agent_needs_input",
	}
	c.journal.Append(agent.Event{
		Member: member, Turn: s.turn(), Data: agent.Notified{Kind: n.NotificationType, Message: n.Message},
	})
	if s.mate == nil {
		return
	}
	// The hooks may take long, and nobody waits for them but the end of the team.
	ctx, done := c.asks.beside(ctx)
	if !c.members.Go(func() {
		defer done()
		if _, err := s.mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			c.log.Warn("Notification hooks", "member", s.member.Name, "err", err)
		}
	}) {
		done()
	}
}

// troubled puts a member that needs attention into the inbox, once for each
// trouble. Nobody waits for the answer, so the question has no deadline.
func (c *crew) troubled(ctx context.Context, s *seat, reason string) error {
	if c.asks == nil {
		return nil
	}
	_, err := c.asks.ask(ctx, actors.Actor{Name: s.member.Name}, requests.New{
		Kind: requests.AskAttention, Member: s.member.Name, To: actors.Operator, Key: "attention",
		Text: fmt.Sprintf("%s needs attention: %s", s.member.Name, wording.Preview(reason+c.writes.Blame(s.member), 4000)),
	})
	return err
}

// reassured takes the attention from a member that a person has told to go on while it
// is in a turn: it reads so there, and no new work would take it away. Who is idle loses it
// with the turn that the person's word begins.
func (c *crew) reassured(r requests.Request) {
	s, ok := c.seat(r.Member)
	if !ok || !r.Approved() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.idle && s.gone == "" {
		s.attention = ""
	}
}

// calmed takes a member's trouble out of the inbox: it works again. That the inbox
// could not be told so is no reason to keep the member from its work.
func (c *crew) calmed(ctx context.Context, s *seat) {
	if c.asks == nil {
		return
	}
	c.asks.fault(ctx, c.asks.withdrawAll(ctx, s.member.Name+" works again", func(r requests.Request) bool {
		return r.Kind == requests.AskAttention && r.Member == s.member.Name
	}))
}
