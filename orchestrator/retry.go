package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/teammate/agent"
	agentprogram "github.com/coveyteam/covey/teammate/program"
)

// A turn that failed because of a model, its vendor or an agent program is tried again
// after a pause. The pause is a lockout of a kind of its own: it is stored, so that a
// covey which is started again goes on with it, and a person can end it at any time.

const (
	// retryLimit is how many times in a row a failed turn is tried again. With firstRest
	// doubled up to longRest that is about four minutes: a vendor that is overloaded or
	// limits requests by the minute has recovered by then, or it takes a person.
	retryLimit = 8
	// announcedRest is how long a pause may be that the vendor has asked for. What
	// takes longer is a usage limit, not a failure.
	announcedRest = 2 * time.Minute
)

// retryRest is the pause before a turn is tried again that has failed so many times in
// a row with these words: a vendor that says how long to wait is believed.
func retryRest(failed int, words string, now time.Time) time.Duration {
	rest := firstRest
	for range failed - 1 {
		rest = min(2*rest, longRest)
	}
	if wanted := agentprogram.ResetTime(words, now).Sub(now); wanted > rest && wanted <= announcedRest {
		rest = wanted
	}
	return rest
}

// failedTurn is the lockout of a member whose turn has failed, and the event as people
// are to read it. The lockout is nil where no time mends the failure, and where the spec
// has a policy of its own for members that fail (stumble).
func (s *seat) failedTurn(e agent.TurnFailed, now time.Time) (*lockout, agent.TurnFailed) {
	if !e.Passing || s.member.Restart.Given {
		return nil, e
	}
	l := &lockout{Failed: true, Tries: 1, Text: e.Text, Fresh: true}
	if was := s.locked(); was.Failed {
		l.Tries = was.Tries + 1
	}
	e.Failed, e.Left = l.Tries, retryLimit-l.Tries+1
	if l.GivenUp = e.Left <= 0; l.GivenUp {
		e.Left = 0
		return l, e
	}
	l.Until = now.Add(retryRest(l.Tries, e.Text, now)).Round(0)
	e.Until = l.Until
	return l, e
}

// noteFailure takes in that a member's turn has failed. The pause is stored before
// anybody is told of it.
func (c *crew) noteFailure(ctx context.Context, s *seat, e agent.TurnFailed) agent.TurnFailed {
	l, e := s.failedTurn(e, c.clock.Now())
	c.mu.Lock()
	s.lockout = l
	c.mu.Unlock()
	stored := rawjson.Encode(l)
	if l == nil || l.GivenUp {
		stored = rawjson.Encode(nil)
	}
	c.act(ctx, s, c.store.Put(context.WithoutCancel(ctx), keyLockout(s.member.Name), stored))
	return e
}

// triesAgain reports whether the turn that a member has just ended in failure will be
// tried again. Where it has failed too often for that, why says so.
func (c *crew) triesAgain(s *seat) (again bool, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := s.lockout
	switch {
	case l == nil || !l.Failed:
		return false, ""
	case !l.GivenUp:
		return true, ""
	}
	s.lockout = nil
	return false, fmt.Sprintf("its turns failed %d times in a row, the last one so: %s", l.Tries, l.Text)
}

// retryText says what a member waits for whose last turn failed.
func retryText(l lockout, now time.Time) string {
	return fmt.Sprintf("try %d of %d in %s, after: %s", l.Tries, retryLimit,
		max(l.Until.Sub(now).Round(time.Second), 0), wording.OneLine(l.Text))
}

// holdsBack reports whether a member waits to try its last turn again; crew.mu is held.
func (s *seat) holdsBack(now time.Time) bool {
	return s.idle && !s.held() && s.lockout.state(now) == plan.LockFailed
}
