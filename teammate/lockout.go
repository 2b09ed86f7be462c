package teammate

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// GoOn is what a member is told, by Work of the cause ByResume, once it may go
// on with a turn that a usage limit or a missing login ended. What that turn
// was about stands before it: the member has kept it, over a restart too.
const GoOn = "Your last turn was cut short: your agent program had reached its usage limit, or was not logged in. " +
	"That is over. Go on with what you were asked; it may be repeated above. " +
	"What you did before still stands, so look before you do anything again."

// TryAgain is GoOn for a member whose last turn failed.
const TryAgain = "Your last turn ended early: a request to your model failed. That may be over, so go on with what you " +
	"were asked; it may be repeated above. What you did before still stands, so look before you do anything again."

// usedUp is the end of a turn whose agent has used up its account. The gates
// are not asked: the agent could not do what they want.
func (u *turn) usedUp(e *agent.LimitError, owed []agent.Input) ending {
	return ending{
		reason: agent.EndUsageLimit, idle: agent.IdleUsageLimit, lastText: e.Error(), owed: owed,
		lockout: agent.Limited{Agent: u.t.opts.Kind, Until: e.Until, Known: !e.Until.IsZero(), Text: e.Text},
		notice:  u.t.opts.Name + ": " + e.Error(),
		failure: lockoutFailure("rate_limit", e),
	}
}

// loggedOut is the end of a turn whose agent is not logged in.
func (u *turn) loggedOut(e *agent.LoginError, owed []agent.Input) ending {
	return ending{
		reason: agent.EndLoggedOut, idle: agent.IdleLoggedOut, lastText: e.Error(), owed: owed,
		lockout:   agent.LoggedOut{Agent: u.t.opts.Kind, Hint: e.Hint},
		attention: e.Error(), kind: "login",
		failure: lockoutFailure("authentication_failed", e),
	}
}

// lockoutFailure is what the StopFailure hooks are told.
func lockoutFailure(kind string, err error) *hooks.StopFailureInput {
	return &hooks.StopFailureInput{
		Error: kind, ErrorDetails: err.Error(), LastAssistantMessage: "API Error: " + err.Error(),
	}
}

// owed is what the agent was asked in this Run, for the next turn. Nobody can
// know how much of it a foreign program has taken in. GoOn and TryAgain
// are left out: they come anew with the next try, and would pile up otherwise.
func (run *agentRun) owed() []agent.Input {
	var owed []agent.Input
	for _, in := range run.asked {
		if in.Kind == agent.FromCovey && (in.Text == GoOn || in.Text == TryAgain) {
			continue
		}
		in.MessageID = "" // delivered: it stands in the transcript
		owed = append(owed, in)
	}
	return owed
}

// failedWith is the end of a turn whose agent returned err.
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

// admitted takes a turn once the inbox lets it begin, if it has a say in that.
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
