package agent

import (
	"errors"
	"fmt"
	"time"
)

// ErrMaxTurns is returned by Host.Pass and by Agent.Run when this turn has used its
// limits.max_turns passes.
var ErrMaxTurns = errors.New("limits.max_turns reached")

// ErrMaxTokens is returned by Host.Pass when the member has used limits.max_tokens. An agent
// returns it as it does ErrMaxTurns.
var ErrMaxTokens = errors.New("limits.max_tokens reached")

// ErrMaxBudget is returned by Host.Pass when the member has cost limits.max_budget_usd. An agent
// returns it as it does ErrMaxTurns.
var ErrMaxBudget = errors.New("limits.max_budget_usd reached")

// ErrTeamBudget is returned by Host.Pass when the team has used its whole budget. An agent
// returns it as it does ErrMaxTurns.
var ErrTeamBudget = errors.New("the team's budget is used up")

// ErrInterrupted is the cause of a turn's context when a person interrupted the turn. The member
// continues with its next work.
var ErrInterrupted = errors.New("interrupted")

// ErrCut is the cause of the context of a tool's call, or of a program's turn, that was cut short because
// a person wants a text to come next.
var ErrCut = fmt.Errorf("%w: a text of the operator comes next", ErrInterrupted)

// CutShort begins the result of a call that was cut short with ErrCut.
const CutShort = "Cut short: a message of the operator comes next."

// APIError is a model request that failed. Type is one of the StopFailure
// errors of HOOKS.md section 6.
type APIError struct {
	Type    string // rate_limit, overloaded, …, unknown
	Message string // for people
	Details string // what the API said, if it said more
	// End is the reason of TurnEnded. Empty means EndCompleted, as recorded hosts report an
	// API error; EndModelError, that no API failed: the model cannot answer any more, such as
	// a script without further steps.
	End string
	// NoStart means that an agent program ended before it printed anything. A few tries show whether
	// that passes.
	NoStart bool
	// Overflow means that the conversation is longer than the model can read.
	Overflow bool
}

// Error describes what failed, for people.
func (e *APIError) Error() string { return fmt.Sprintf("API error (%s): %s", e.Type, e.Message) }

// Passes reports whether the error may pass with time, so that a later retry makes sense. An
// error of unknown type may pass.
func (e *APIError) Passes() bool {
	switch e.Type {
	case "rate_limit", "overloaded", "server_error", "unknown", "":
		return e.End == ""
	}
	return false
}

// LimitError is returned by Agent.Run when the account behind an agent program has reached the
// limit of its plan. It ends the turn, whose inputs are kept, because a retry before Until would
// fail too.
type LimitError struct {
	Until time.Time // when it may work again; zero: unknown
	Text  string    // what the program said
}

// Error returns until when, if known.
func (e *LimitError) Error() string {
	if e.Until.IsZero() {
		return "usage limit reached: " + e.Text
	}
	return "usage limit reached until " + e.Until.Format(time.RFC3339) + ": " + e.Text
}

// LoginError is returned by Agent.Run when an agent program is not logged in. It ends the turn,
// whose inputs are kept until a person logs in.
type LoginError struct {
	Hint string // what the program said, or how to log in
}

// Error returns what the program needs.
func (e *LoginError) Error() string { return "not logged in: " + e.Hint }

// GoOn is the prompt, in Work with the cause ByResume, that tells a member to continue
// a turn that a usage limit or a missing login ended. The inputs of that turn precede
// it: the member has kept them, even over a restart.
const GoOn = "Your last turn was cut short: your agent program had reached its usage limit, or was not logged in. " +
	"That is over. Go on with what you were asked; it may be repeated above. " +
	"What you did before still stands, so look before you do anything again."

// TryAgain is like GoOn for a member whose last turn failed.
const TryAgain = "Your last turn ended early: a request to your model failed. That may be over, so go on with what you " +
	"were asked; it may be repeated above. What you did before still stands, so look before you do anything again."
