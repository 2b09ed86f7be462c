package budget

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
)

// keyUpTime is where the store has how long the team was up in earlier runs, in
// seconds. Tokens and dollars need no such key: they stand in the transcripts,
// with the messages that they were used for.
const keyUpTime = "budget/time"

// keepUpTime is how often the time is kept that the team is up. A run that is
// killed has at most that much more of budget.time.
const keepUpTime = 15 * time.Second

// Recall takes in what a member's program told of its cost in earlier runs.
func (l *Ledger) Recall(member string, usd float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[member]; a != nil && usd > 0 {
		a.told += usd
		l.usd += usd
		a.heed(usd)
	}
}

// Resume takes in how long the team was up in earlier runs. It is called once, when all
// accounts are open and no member has begun.
func (l *Ledger) Resume(ctx context.Context) error {
	var up float64
	if err := tasks.ReadValue(ctx, l.ports.Store, keyUpTime, &up); err != nil {
		return err
	}
	l.resume(time.Duration(up * float64(time.Second)))
	return nil
}

// resume goes on from a time that the team was up. What was reached by then has been told.
//
// crossed is called for what it remembers, not for what it returns: a team that is
// started again at 80 percent tells nobody anew of 50 and 75. A member that was told to
// hand over before gets one pass more, in which it can finish.
func (l *Ledger) resume(up time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier = up
	for member, a := range l.accounts {
		l.crossed(member)
		if over, ok := l.over(member); ok && a.noted[useID(over, 100)] {
			a.final = a.grant() - 1 // it was cut off while it handed over
		}
	}
}

// up is how long the team has been up, over all its runs.
func (l *Ledger) up() time.Duration { return l.earlier + time.Since(l.began) }

// KeepTime stores how long the team has been up, if its budget bounds it.
func (l *Ledger) KeepTime(ctx context.Context) error {
	l.mu.Lock()
	up, bounded := l.up(), l.budget.Time > 0
	l.mu.Unlock()
	if !bounded {
		return nil
	}
	if err := l.ports.Store.Put(ctx, keyUpTime, notation.Encode(up.Seconds())); err != nil {
		return fmt.Errorf("keep how long the team was up: %w", err)
	}
	return nil
}

// HeedClock counts the time that the team is up, where its budget bounds it.
//
// No member tells of time, so the empty change is what finds the levels that only the
// clock has reached. The time is kept every keepUpTime and not with each round of the
// loop, which would cost a commit each.
func (l *Ledger) HeedClock(ctx context.Context) error {
	l.mu.Lock()
	now, bounded := time.Now(), l.budget.Time > 0
	due := bounded && now.Sub(l.kept) >= keepUpTime
	if due {
		l.kept = now
	}
	l.mu.Unlock()
	if bounded {
		l.change(func() {})
	}
	if due {
		return l.KeepTime(ctx)
	}
	return nil
}

// Next fires when somebody has to look at what is used though no level was reached: the
// budget's time goes on, or a turn takes too long to end. nil: never.
//
// Where the team's time is bounded it fires at least every keepUpTime, for HeedClock.
// Most teams have no budget, and need no timer.
func (l *Ledger) Next() <-chan time.Time {
	l.mu.Lock()
	wait, ok := l.nextLevel()
	wait = min(wait, keepUpTime)
	for _, o := range l.overruns {
		if left := max(time.Until(o.until), 0); !o.cut && (!ok || left < wait) {
			wait, ok = left, true
		}
	}
	l.mu.Unlock()
	if !ok {
		return nil
	}
	return l.ports.Clock.After(wait)
}

// nextLevel is how long it takes until the team has been up for the next share of
// its time; false: its time is not bounded, or up. l.mu is held.
//
// The levels are those of teammate.Level, as shares of budget.time.
func (l *Ledger) nextLevel() (time.Duration, bool) {
	up := l.up()
	for _, level := range []time.Duration{50, 75, 90, 100} {
		if at := l.budget.Time * level / 100; up < at {
			return at - up, true
		}
	}
	return 0, false
}
