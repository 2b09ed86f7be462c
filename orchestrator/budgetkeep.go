package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate"
)

// keyUpTime is where the store has how long the team was up in earlier runs, in
// seconds. Tokens and dollars need no such key: they stand in the transcripts,
// with the messages that they were used for.
const keyUpTime = "budget/time"

// keepUpTime is how often the time is kept that the team is up. A run that is
// killed has at most that much more of budget.time.
const keepUpTime = 15 * time.Second

// openAccounts completes the ledger by what stands in the store: what agent
// programs have told of their cost, what members have used that the spec no longer
// has, and how long the team was up.
func (o *Orchestrator) openAccounts(ctx context.Context, c *crew) error {
	var up float64
	if err := value(ctx, c.store, keyUpTime, &up); err != nil {
		return err
	}
	known, err := c.store.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range known {
		if _, ok := c.seat(m.Name); !ok {
			past, err := teammate.ReadHistory(o.place.Transcript(m.Name, m.Session))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("what %s has used, who is no member any more: %w", m.Name, err)
			}
			c.ledger.open(m.Name, configs.Limits{}, "", past)
		}
		var past programSession
		if err := value(ctx, c.store, programKey(m.Name), &past); err != nil {
			return err
		}
		c.ledger.recall(m.Name, past.LifeUSD)
	}
	c.ledger.resume(time.Duration(up * float64(time.Second)))
	return nil
}

// recall takes in what a member's program told of its cost in earlier runs.
func (l *ledger) recall(member string, usd float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[member]; a != nil && usd > 0 {
		a.told += usd
		l.usd += usd
		a.heed(usd)
	}
}

// resume takes in how long the team was up before. What was reached by then has
// been told.
func (l *ledger) resume(up time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier = up
	for member, a := range l.accounts {
		l.crossed(member)
		if over, ok := l.over(member); ok && a.noted[over.id(100)] {
			a.final = handOverPasses - 1 // it was cut off while it handed over
		}
	}
}

// keepTime keeps how long the team has been up, if its budget asks for it.
func (c *crew) keepTime(ctx context.Context) error {
	c.ledger.mu.Lock()
	up, bounded := c.ledger.up(), c.ledger.budget.Time > 0
	c.ledger.mu.Unlock()
	if !bounded {
		return nil
	}
	return c.store.Put(ctx, keyUpTime, raw(up.Seconds()))
}
