package teammate

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// usedUp is the ending of a turn whose agent has reached its usage limit. The gates
// are skipped, because the agent could not act on a refusal.
//
// The inputs are owed: the account, and not the work, was the reason for the end. The
// lockout tells whoever gives work when to try again.
func (u *turn) usedUp(e *agent.LimitError, owed []agent.Input) ending {
	return ending{
		reason: events.EndUsageLimit, idle: events.IdleUsageLimit, lastText: e.Error(), owed: owed,
		lockout: events.Limited{Agent: u.t.opts.Kind, Until: e.Until, Known: !e.Until.IsZero(), Text: e.Text},
		notice:  u.t.opts.Name + ": " + e.Error(),
		failure: lockoutFailure("rate_limit", e),
	}
}

// loggedOut is the ending of a turn whose agent is not logged in.
func (u *turn) loggedOut(e *agent.LoginError, owed []agent.Input) ending {
	return ending{
		reason: events.EndLoggedOut, idle: events.IdleLoggedOut, lastText: e.Error(), owed: owed,
		lockout:   events.LoggedOut{Agent: u.t.opts.Kind, Hint: e.Hint},
		attention: e.Error(), kind: events.AttentionLogin,
		failure: lockoutFailure("authentication_failed", e),
	}
}

// lockoutFailure returns the input of the StopFailure hooks.
func lockoutFailure(kind string, err error) *hooks.StopFailureInput {
	return &hooks.StopFailureInput{
		Error: kind, ErrorDetails: err.Error(), LastAssistantMessage: "API Error: " + err.Error(),
	}
}

// unansweredInputs returns the inputs of this Run, for the next turn. It is unknown how much of
// them an agent program has processed. agent.GoOn and agent.TryAgain are omitted, because the next
// try adds them again and they would pile up.
func (run *agentRun) unansweredInputs() []agent.Input {
	var owed []agent.Input
	for _, in := range run.asked {
		if in.Kind == agent.FromCovey && (in.Text == agent.GoOn || in.Text == agent.TryAgain) {
			continue
		}
		in.MessageID = "" // already delivered: it is in the transcript
		owed = append(owed, in)
	}
	return owed
}

// failedWith is the ending of a turn whose agent returned err.
func (u *turn) failedWith(err error, owed []agent.Input) ending {
	var (
		api   *agent.APIError
		limit *agent.LimitError
		login *agent.LoginError
	)
	switch {
	case errors.As(err, &limit):
		return u.usedUp(limit, owed)
	case errors.As(err, &login):
		return u.loggedOut(login, owed)
	case errors.As(err, &api):
		return u.failed(api, owed)
	}
	return broken(fmt.Errorf("agent: %w", err))
}

// admitted runs a turn once the inbox admits it, if the inbox is an Admitter.
func (t *Teammate) admitted(ctx context.Context, turn func() error) error {
	inbox, ok := t.opts.Inbox.(Admitter)
	if !ok {
		return turn()
	}
	release, err := inbox.Admit(ctx)
	if err != nil {
		return err
	}
	defer release()
	return turn()
}
