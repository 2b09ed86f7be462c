package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
)

// keyUpTime is the store's key for how long the team was up in earlier runs, in seconds.
// Tokens and dollars need no key, because they are in the transcripts.
const keyUpTime = "budget/time"

// keepUpTime is the interval at which the up time is stored. A run that is killed exceeds
// budget.time by at most that much.
const keepUpTime = 15 * time.Second

// Recall adds the costs that a member's program reported in earlier runs.
func (l *Ledger) Recall(member string, usd float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[member]; a != nil && usd > 0 {
		a.told += usd
		l.usd += usd
		a.heed(usd)
	}
}

// Resume reads how long the team was up in earlier runs. It must be called once, after all
// accounts are open and before a member begins.
func (l *Ledger) Resume(ctx context.Context) error {
	var up float64
	if err := tasks.ReadValue(ctx, l.deps.Store, keyUpTime, &up); err != nil {
		return err
	}
	l.resume(time.Duration(up * float64(time.Second)))
	return nil
}

// resume continues from an up time. Levels reached by then count as reported.
//
// It calls crossed to mark these levels as reported, so that a team that restarts at 80 percent
// does not report 50 and 75 again. A member that was told to hand over before gets one more
// pass to finish.
func (l *Ledger) resume(up time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier = up
	for member, a := range l.accounts {
		l.crossed(member)
		if over, ok := l.over(member); ok && a.noted[useID(over, 100)] {
			a.final = a.grant() - 1 // the last run ended while it handed over
		}
	}
}

// up returns how long the team has been up, over all runs.
func (l *Ledger) up() time.Duration { return l.earlier + time.Since(l.began) }

// KeepTime stores how long the team has been up, if its budget limits the time.
func (l *Ledger) KeepTime(ctx context.Context) error {
	l.mu.Lock()
	up, bounded := l.up(), l.budget.Time > 0
	l.mu.Unlock()
	if !bounded {
		return nil
	}
	if err := l.deps.Store.Put(ctx, keyUpTime, texts.Encode(up.Seconds())); err != nil {
		return fmt.Errorf("store how long the team was up: %w", err)
	}
	return nil
}

// Due reports levels of budget.time, and stores the up time, if the budget limits it. It implements
// crew.Timer.
//
// The empty change finds the levels that were reached by the clock alone. The time is stored
// every keepUpTime and not in each round of the loop, because each time costs a commit.
func (l *Ledger) Due(ctx context.Context) error {
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

// changes records in a scene when the ledger has to be checked although no member has used
// anything: because of budget.time, or because a turn takes too long to end. If the team's time is
// limited, that is at least every keepUpTime, for Due. l.mu must be held.
func (l *Ledger) changes(s *plan.Scene) {
	if wait, ok := l.nextLevel(); ok {
		s.ChangesIn(min(wait, keepUpTime))
	}
	for _, o := range l.overruns {
		if !o.cut {
			s.ChangesIn(max(time.Until(o.until), 0))
		}
	}
}

// nextLevel returns the time until the next level of budget.time. It is not ok if the time is
// not limited or is used up. l.mu must be held.
//
// The levels are those of agent.Level, as shares of budget.time.
func (l *Ledger) nextLevel() (time.Duration, bool) {
	up := l.up()
	for _, level := range []time.Duration{50, 75, 90, 100} {
		if at := l.budget.Time * level / 100; up < at {
			return at - up, true
		}
	}
	return 0, false
}
