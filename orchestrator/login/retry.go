package login

import (
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// A turn that failed because of a model, its vendor or an agent program is tried again
// after a pause. The pause is a lockout of a kind of its own: it is stored, so that a
// covey which is started again goes on with it, and a person can end it at any time.

const (
	// retryLimit is how many times in a row a failed turn is tried again. The pauses of
	// routine.Backoff add up to about four minutes: a vendor that is overloaded or limits
	// requests by the minute has recovered by then, or a person has to help.
	retryLimit = 8
	// announcedRest is how long a pause may be that the vendor has asked for. What
	// takes longer is a usage limit, not a failure.
	announcedRest = 2 * time.Minute
)

// retryRest is the pause before a turn is tried again that has failed so many times in
// a row with these words: a vendor that says how long to wait is believed.
func retryRest(failed int, words string, now time.Time) time.Duration {
	rest := routine.Backoff(failed)
	if wanted := program.ResetTime(words, now).Sub(now); wanted > rest && wanted <= announcedRest {
		rest = wanted
	}
	return rest
}

// failedTurn is the lockout of a member whose turn has failed, and the event as people
// are to read it. The lockout is nil where no time mends the failure, and where the spec
// has a policy of its own for members that fail.
func (l *Logins) failedTurn(m *roster.Member, e agent.TurnFailed) (*Lockout, agent.TurnFailed) {
	if !e.Passing || m.Restart.Given {
		return nil, e
	}
	failed := &Lockout{Failed: true, Tries: 1, Text: e.Text, Fresh: true}
	if was := l.State(m.Name).Lockout; was != nil && was.Failed {
		failed.Tries = was.Tries + 1
	}
	e.Failed, e.Left = failed.Tries, max(retryLimit-failed.Tries+1, 0)
	if failed.GivenUp = e.Left == 0; failed.GivenUp {
		return failed, e
	}
	now := l.ports.Clock.Now()
	failed.Until = now.Add(retryRest(failed.Tries, e.Text, now)).Round(0)
	e.Until = failed.Until
	return failed, e
}

// TriesAgain reports whether the turn that a member has just ended in failure will be
// tried again. Where it has failed too often for that, why says so.
func (l *Logins) TriesAgain(name string) (again bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.of(name)
	failed := m.state.Lockout
	switch {
	case failed == nil || !failed.Failed:
		return false, ""
	case !failed.GivenUp:
		return true, ""
	}
	m.state.Lockout = nil
	return false, fmt.Sprintf("its turns failed %d times in a row, the last one so: %s", failed.Tries, failed.Text)
}

// RetryText says what a member waits for whose last turn failed.
func (l *Lockout) RetryText(now time.Time) string {
	return fmt.Sprintf("try %d of %d in %s, after: %s", l.Tries, retryLimit,
		max(l.Until.Sub(now).Round(time.Second), 0), notation.OneLine(l.Text))
}
