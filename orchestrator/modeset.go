package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// SetMode gives a member another permission mode, from its next call on, for its session
// and across restarts. The lead may give at most what the spec allows, a person anything.
// A spec that changes the member's mode takes precedence.
func (p boardDeps) SetMode(ctx context.Context, by actors.Actor, to, mode string) error {
	person := by.Name == actors.Operator
	if !person && by.Name != p.r.seats.Lead().Member.Name {
		return texts.Errorf(api.ErrDenied, "only %s, who leads the team, or a person can change a permission mode",
			p.r.seats.Lead().Member.Name)
	}
	m, ok := p.r.seats.Member(to)
	if err := inbox.MayHaveMode(person || !ok, m, mode); err != nil {
		return err
	}
	s, ok := p.r.seats.Of(to)
	switch {
	case !ok:
		return p.r.board.NoSeat(to)
	case p.r.asks.Plans.MustPlan(s.Member):
		return texts.Errorf(api.ErrDenied, "%s must plan first; the answer to its plan may name a mode", to)
	}
	if err := p.r.asks.Plans.GiveMode(ctx, s.Member, mode); err != nil {
		return err
	}
	// The mode holds already when the member reads of it. If the mail fails, the caller
	// gets the error although the mode was changed, and may repeat the call.
	_, err := p.r.store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{to}, Kind: mail.ModeSet, Text: "Your permission mode is " + mode + " from now on.",
		Data: texts.Encode(mail.ModeChange{Type: mail.ModeSet, From: by.Name, Mode: mode, Timestamp: p.r.clock.Now()}),
	})
	return err
}
