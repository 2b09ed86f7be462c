package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// SetMode carries out a change of a mode: the lead, or a person, gives a member another permission
// mode, from its next call on, for its session and over restarts. The lead may give less
// than the spec does or as much, a person anything; a spec that changes the member's mode
// goes before.
func (p boardPorts) SetMode(ctx context.Context, by actors.Actor, to, mode string) error {
	c := p.c
	person := by.Name == actors.Operator
	if !person && by.Name != c.seating.lead().member.Name {
		return notation.Errorf(api.ErrDenied, "only %s, who leads the team, or a person can change a permission mode",
			c.seating.lead().member.Name)
	}
	m, ok := c.seating.member(to)
	if err := inbox.MayHaveMode(person || !ok, m, mode); err != nil {
		return err
	}
	s, ok := c.seating.of(to)
	switch {
	case !ok || s.mate == nil:
		return fmt.Errorf("%s: %w", to, api.ErrNoMember)
	case c.asks.Plans.MustPlan(s.member):
		return notation.Errorf(api.ErrDenied, "%s must plan first; the answer to its plan may name a mode", to)
	}
	if err := c.asks.Plans.GiveMode(ctx, s.member, mode); err != nil {
		return err
	}
	_, err := c.store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{to}, Kind: mail.ModeSet, Text: "Your permission mode is " + mode + " from now on.",
		Data: notation.Encode(mail.ModeChange{Type: mail.ModeSet, From: by.Name, Mode: mode, Timestamp: c.clock.Now()}),
	})
	return err
}
