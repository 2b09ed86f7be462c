package teammate

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// GoOn is the prompt, in Work with the cause ByResume, that tells a member to continue
// a turn that a usage limit or a missing login ended. The inputs of that turn precede
// it: the member has kept them, even over a restart.
const GoOn = "Your last turn was cut short: your agent program had reached its usage limit, or was not logged in. " +
	"That is over. Go on with what you were asked; it may be repeated above. " +
	"What you did before still stands, so look before you do anything again."

// TryAgain is like GoOn for a member whose last turn failed.
const TryAgain = "Your last turn ended early: a request to your model failed. That may be over, so go on with what you " +
	"were asked; it may be repeated above. What you did before still stands, so look before you do anything again."

// usedUp is the ending of a turn whose agent has reached its usage limit. The gates
// are skipped, because the agent could not act on a refusal.
func (u *turn) usedUp(e *agent.LimitError, owed []agent.Input) ending {
	return ending{
		reason: agent.EndUsageLimit, idle: agent.IdleUsageLimit, lastText: e.Error(), owed: owed,
		lockout: agent.Limited{Agent: u.t.opts.Kind, Until: e.Until, Known: !e.Until.IsZero(), Text: e.Text},
		notice:  u.t.opts.Name + ": " + e.Error(),
		failure: lockoutFailure("rate_limit", e),
	}
}

// loggedOut is the ending of a turn whose agent is not logged in.
func (u *turn) loggedOut(e *agent.LoginError, owed []agent.Input) ending {
	return ending{
		reason: agent.EndLoggedOut, idle: agent.IdleLoggedOut, lastText: e.Error(), owed: owed,
		lockout:   agent.LoggedOut{Agent: u.t.opts.Kind, Hint: e.Hint},
		attention: e.Error(), kind: "login",
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
// them an agent program has processed. GoOn and TryAgain are omitted, because the next
// try adds them again and they would pile up.
func (run *agentRun) unansweredInputs() []agent.Input {
	var owed []agent.Input
	for _, in := range run.asked {
		if in.Kind == agent.FromCovey && (in.Text == GoOn || in.Text == TryAgain) {
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
