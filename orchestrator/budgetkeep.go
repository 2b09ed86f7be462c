package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
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
//
// It runs once, when all members have been hired and none has begun. Who is no member
// any more has no limits, yet what it used counts for the team's budget: else a member
// that is taken out of the spec would give the team its money back.
func (o *Orchestrator) openAccounts(ctx context.Context, c *crew) error {
	var up float64
	if err := tasks.ReadValue(ctx, c.store, keyUpTime, &up); err != nil {
		return err
	}
	known, err := c.store.Members().List(ctx)
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	for _, m := range known {
		if _, ok := c.seat(m.Name); !ok {
			past, err := transcript.ReadHistory(o.place.Transcript(m.Name, m.Session))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("what %s has used, who is no member any more: %w", m.Name, err)
			}
			c.ledger.open(m.Name, configs.Limits{}, configs.Agent{}, past)
		}
		var past programSession
		if err := tasks.ReadValue(ctx, c.store, programKey(m.Name), &past); err != nil {
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
//
// crossed is called for what it remembers, not for what it gives back: a team that is
// started again at 80 percent tells nobody anew of 50 and 75. A member that was told to
// hand over before gets one pass more, in which it can finish.
func (l *ledger) resume(up time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier = up
	for member, a := range l.accounts {
		l.crossed(member)
		if over, ok := l.over(member); ok && a.noted[useID(over, 100)] {
			a.final = a.grant - 1 // it was cut off while it handed over
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
	return c.store.Put(ctx, keyUpTime, rawjson.Encode(up.Seconds()))
}

// timed reports whether the team's time is bounded.
func (l *ledger) timed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget.Time > 0
}

// nextLevel is how long it takes until the team has been up for the next share of
// its time; false: its time is not bounded, or up.
//
// The levels are those of teammate.Level, as shares of budget.time.
func (l *ledger) nextLevel() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	up := l.up()
	for _, level := range []time.Duration{50, 75, 90, 100} {
		if at := l.budget.Time * level / 100; up < at {
			return at - up, true
		}
	}
	return 0, false
}

// unknown says what is not known exactly of a member's use, where something
// bounds it, once for each thing; empty: nothing new.
//
// hazy and dear never go back: what was used and not told stays unknown for all of the
// member's lives. Tokens of a subscription have no price and are not dear. The warning
// is given only where a limit is set, for nobody else needs the number to be exact.
func (l *ledger) unknown(member string, end agent.TurnEnded) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[member]
	if a == nil {
		return ""
	}
	_, priced := l.prices.find(a.model)
	a.hazy = a.hazy || end.UsageUnknown
	a.dear = a.dear || !a.free && !priced && a.told == 0 && (end.UsageUnknown || end.Usage.Total() > 0)
	l.hazy, l.dear = l.hazy || a.hazy, l.dear || a.dear
	for _, u := range l.uses(member) {
		mine := u.What == journal.Tokens && a.hazy || u.What == journal.USD && a.dear
		if !mine || a.warned[u.What] {
			continue
		}
		note(&a.warned, u.What, true)
		if u.What == journal.Tokens {
			return fmt.Sprintf("the agent program of %s does not tell all the tokens that it uses: %s cannot be held "+
				"exactly, what is counted is the least", member, useSetting(u))
		}
		return fmt.Sprintf("what the tokens of %s cost is not known, so %s does not count them: give %q a price in "+
			"the file that budget.prices names, or bound its tokens", member, useSetting(u), cmp.Or(a.model, member))
	}
	return ""
}

// dueToKeep reports whether it is time to keep how long the team has been up; the
// next time is counted from now.
func (l *ledger) dueToKeep() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.kept) < keepUpTime {
		return false
	}
	l.kept = now
	return true
}

// onLimit is what a vendor's limit means for the team.
func (l *ledger) onLimit() configs.OnLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget.OnLimit
}

// setAgent lets other prices hold for a member, which goes on with another agent.
//
// What was used so far keeps the price at which it was counted; only what comes from
// now on is priced as the new agent's. The grant follows the kind, as in open.
func (l *ledger) setAgent(member string, a configs.Agent) {
	l.change(func() {
		account := l.accounts[member]
		if account == nil {
			return
		}
		account.model, account.free, account.grant = pricedAs(a), subscribed(a), handOverPasses
		if a.Kind == configs.ACP || a.Kind == configs.Command {
			account.grant = 1
		}
	})
}
