package agent

import (
	"errors"
	"fmt"
	"time"
)

// ErrMaxTurns is returned by Host.Pass and by Agent.Run when limits.max_turns
// passes of this turn are used up.
var ErrMaxTurns = errors.New("limits.max_turns reached")

// ErrMaxTokens is returned by Host.Pass when the member has used up
// limits.max_tokens. An agent hands it on as it does ErrMaxTurns.
var ErrMaxTokens = errors.New("limits.max_tokens reached")

// ErrMaxBudget is returned by Host.Pass when the member has cost as much as
// limits.max_budget_usd says. An agent hands it on as it does ErrMaxTurns.
var ErrMaxBudget = errors.New("limits.max_budget_usd reached")

// ErrTeamBudget is returned by Host.Pass when the whole team has used up its
// budget. An agent hands it on as it does ErrMaxTurns.
var ErrTeamBudget = errors.New("the team's budget is used up")

// ErrInterrupted is the cause of a turn's context when a person interrupted
// the turn. The member goes on with its next work.
var ErrInterrupted = errors.New("interrupted")

// APIError is a model request that failed. Type is one of the StopFailure
// errors of HOOKS.md section 6.
type APIError struct {
	Type    string // rate_limit, overloaded, …, unknown
	Message string // for people
	Details string // what the API said, if it said more
	// Fatal says that the model has nothing more to answer with, as a script
	// that ran out: no API failed, and the turn ends with model_error.
	Fatal bool
}

// Error says what failed, for people.
func (e *APIError) Error() string { return fmt.Sprintf("API error (%s): %s", e.Type, e.Message) }

// Passes reports whether time alone may mend the error, so that trying the same again
// after a while makes sense. An error whose type nobody knows may pass.
func (e *APIError) Passes() bool {
	switch e.Type {
	case "rate_limit", "overloaded", "server_error", "unknown", "":
		return !e.Fatal
	}
	return false
}

// LimitError is returned by Agent.Run when the account behind a foreign agent
// program has used up what its plan allows. The turn ends with it; what it was
// about waits, since trying again before Until comes to the same.
type LimitError struct {
	Until time.Time // when it may work again; zero: not known
	Text  string    // what the program said
}

// Error says until when, if that is known.
func (e *LimitError) Error() string {
	if e.Until.IsZero() {
		return "usage limit reached: " + e.Text
	}
	return "usage limit reached until " + e.Until.Format(time.RFC3339) + ": " + e.Text
}

// LoginError is returned by Agent.Run when a foreign agent program is not
// logged in. The turn ends with it, and what it was about waits: only a person
// can help.
type LoginError struct {
	Hint string // what the program said, or how to log in
}

// Error says what the program wants.
func (e *LoginError) Error() string { return "not logged in: " + e.Hint }
