package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// How long a turn may go on whose member has used something up, before it is
// interrupted. The builtin agent is told between its tool calls and is bounded in
// passes, so only a tool that takes long comes to this; of an agent program covey
// sees neither, and its tokens go on meanwhile.
const (
	handOverTime        = 5 * time.Minute
	handOverTimeProgram = 2 * time.Minute
)

// overrun is a turn that goes on though something is used up.
type overrun struct {
	turn  int
	since time.Time
	cut   bool // it was interrupted
}

// tellOfUse tells the journal of a level that was reached; the crew looks at the
// team, since it may have been the last.
//
// It is the ledger's tell, and is called without the ledger's lock, from whatever
// goroutine has spent something.
func (c *crew) tellOfUse(u journal.BudgetUse) {
	if u.Member == "" {
		c.journal.Tell(u)
	} else {
		c.journal.Append(agent.Event{Member: u.Member, Data: u})
	}
	c.poke()
}

// handLast gives a member the prompt to finish and to hand over.
func (c *crew) handLast(s *seat) error {
	in, ok := c.ledger.handOver(s.member.Name)
	if !ok { // the limit was raised just now
		c.poke()
		return nil
	}
	return c.hand(s, teammate.Work{Cause: agent.ByNudge, Inputs: []agent.Input{in}}, "")
}

// hurryOn interrupts the turns that go on for too long after something was used
// up.
//
// The loop calls it with each scene. An overrun belongs to one turn: a member that ends
// a turn and begins the next one, to hand over, has its time anew. A turn is cut once:
// what does not end by that does not end by a second interrupt either.
func (c *crew) hurryOn(seats []plan.Seat) {
	for i := range seats {
		v := &seats[i]
		s, ok := c.seat(v.Name)
		if !ok {
			continue // it has left since
		}
		c.mu.Lock()
		o, now := &s.over, time.Now()
		late := false
		switch {
		case v.Idle || v.Gone || v.Spent == "":
			*o = overrun{}
		case o.since.IsZero() || o.turn != s.watch.turn:
			*o = overrun{turn: s.watch.turn, since: now}
		case !o.cut && now.Sub(o.since) >= s.grace():
			o.cut, late = true, true
		}
		c.mu.Unlock()
		if late {
			s.mate.Interrupt(v.Spent)
		}
	}
}

// grace is how long a turn of the member may go on when something is used up.
func (s *seat) grace() time.Duration {
	if k := s.member.CurrentAgent().Kind; k == configs.ACP || k == configs.Command {
		return handOverTimeProgram
	}
	return handOverTime
}

// heedClock counts the time that the team is up, where its budget bounds it.
//
// No member tells of time, so the empty change is what finds the levels that only the
// clock has reached. The time is kept every keepUpTime and not with each round of the
// loop, which would cost a commit each.
func (c *crew) heedClock(ctx context.Context) error {
	if !c.ledger.timed() {
		return nil
	}
	c.ledger.change(func() {})
	if c.ledger.dueToKeep() {
		if err := c.keepTime(ctx); err != nil {
			return fmt.Errorf("keep how long the team was up: %w", err)
		}
	}
	return nil
}

// nextUse fires when the crew has to look at what is used though nobody pokes it:
// the budget's time goes on, or a turn takes too long to end. nil: never.
//
// Where the team's time is bounded it fires at least every keepUpTime, for heedClock.
// Where nothing is, most teams have no budget, it makes no timer at all.
func (c *crew) nextUse() <-chan time.Time {
	var wait time.Duration
	ok := false
	sooner := func(d time.Duration) {
		if d = max(d, 0); !ok || d < wait {
			wait, ok = d, true
		}
	}
	if left, bounded := c.ledger.nextLevel(); bounded {
		sooner(min(left, keepUpTime))
	}
	c.mu.Lock()
	for _, s := range c.seats() {
		if !s.over.since.IsZero() && !s.over.cut {
			sooner(s.grace() - time.Since(s.over.since))
		}
	}
	c.mu.Unlock()
	if !ok {
		return nil
	}
	return c.clock.After(wait)
}

// noteUnknown tells people, once for each member in a run, that a limit cannot be
// held exactly since not all is known that the member uses.
func (c *crew) noteUnknown(s *seat, end agent.TurnEnded) {
	what := c.ledger.unknown(s.member.Name, end)
	if what == "" {
		return
	}
	c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: agent.Warning{Text: what}})
}
