package accounts

import (
	"fmt"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// A turn that failed because of a model, its vendor or an agent program is tried again
// after a pause. The pause is a kind of lockout: it is stored, so that a restarted covey
// continues it, and a person can end it at any time.

const (
	// retryLimit bounds consecutive tries of a failed turn. The pauses of members.Backoff
	// add up to about four minutes: by then a vendor that is overloaded or limits
	// requests per minute has recovered, or a person has to help.
	retryLimit = 8
	// startLimit bounds them for an agent program that ends before it prints anything: it is
	// broken, or called with arguments that it does not know, and waiting helps with neither.
	startLimit = 2
	// announcedRest bounds a pause that the vendor has asked for. A longer one is a usage
	// limit, not a failure.
	announcedRest = 2 * time.Minute
)

// retryRest returns the pause before a failed turn is tried again, after so many
// consecutive failures. A pause that the vendor names in words is believed.
func retryRest(failed int, words string, now time.Time) time.Duration {
	rest := members.Backoff(failed)
	if wanted := program.ResetTime(words, now).Sub(now); wanted > rest && wanted <= announcedRest {
		rest = wanted
	}
	return rest
}

// failedTurn returns the lockout after a failed turn, and the event with the text for
// people. The lockout is nil if another prompt may help where waiting cannot, and if the spec
// has a restart policy for the member.
func (l *Logins) failedTurn(m *members.Member, e events.TurnFailed) (*Lockout, events.TurnFailed) {
	switch {
	case m.Restart.Given:
		return nil, e
	case !e.Passing && forPeople(e.Error):
		text := (&agent.APIError{Type: e.Error, Message: e.Text}).Error()
		return &Lockout{Failed: true, Tries: 1, Text: text, Fresh: true, GivenUp: true}, e
	case !e.Passing:
		return nil, e
	}
	failed := &Lockout{Failed: true, Tries: 1, Text: e.Text, Fresh: true}
	if was := l.Lockout(m.Name); was != nil && was.Failed {
		failed.Tries, failed.NoStarts = was.Tries+1, was.NoStarts
	}
	if failed.NoStarts++; !e.NoStart {
		failed.NoStarts = 0
	}
	e.Failed, e.Left = failed.Tries, max(failed.limit()-failed.Tries+1, 0)
	if failed.GivenUp = e.Left == 0; failed.GivenUp {
		return failed, e
	}
	now := l.deps.Clock.Now()
	failed.Until = now.Add(retryRest(failed.Tries, e.Text, now)).Round(0)
	e.Until = failed.Until
	return failed, e
}

// forPeople reports whether only a person can fix the cause of a failed turn, by its StopFailure
// type: a key, an account or the spec. Reminders of work would fail in the same way, and hide the
// reason.
func forPeople(kind string) bool {
	return kind == "authentication_failed" || kind == "billing_error" || kind == "model_not_found"
}

// TriesAgain reports whether the turn that has just failed is tried again. If it has
// failed too often, or only a person can help, why says so.
func (l *Logins) TriesAgain(name string) (again bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.of(name)
	failed := m.lockout
	switch {
	case failed == nil || !failed.Failed:
		return false, ""
	case !failed.GivenUp:
		return true, ""
	}
	m.lockout = nil
	if failed.Tries == 1 {
		return false, "its last turn failed: " + failed.Text
	}
	why = fmt.Sprintf("its turns failed %d times in a row, the last one so: %s", failed.Tries, failed.Text)
	if failed.NoStarts > 0 {
		why += "; run that program by hand to see what is wrong with it"
	}
	return false, why
}

// limit returns how often the turn is tried again, counted from its first failure.
func (l *Lockout) limit() int {
	if l.NoStarts == 0 {
		return retryLimit
	}
	return min(retryLimit, startLimit+l.Tries-l.NoStarts)
}

// retryText returns what a member waits for after a failed turn.
func (l *Lockout) retryText() string {
	return fmt.Sprintf("try %d of %d, after: %s", l.Tries, l.limit(), texts.OneLine(l.Text))
}
