package accounts

import (
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/plan"
)

// How long a turn may go on after its member has used up a limit, before it is interrupted.
// The builtin agent gets a note between its tool calls and has a limited number of passes, so
// only a slow tool exceeds its time. covey cannot limit the passes of an agent program, which
// continues to use tokens.
const (
	handOverTime        = 5 * time.Minute
	handOverTimeProgram = 2 * time.Minute
)

// overrun is a turn that goes on although a limit is used up.
type overrun struct {
	turn  int
	until time.Time // when it is interrupted
	cut   bool      // it was interrupted
}

// overrun returns the members whose turns have gone on for too long after a limit was used up.
//
// Each turn has its own time, so a member that begins another turn to hand over has the full time
// again. The numbers of turns tell them apart. A turn is returned only once, because a turn that one
// interrupt does not end is not ended by a second. l.mu must be held.
func (l *Ledger) overrun(seats []plan.Seat) (late []*plan.Seat) {
	now, before := time.Now(), l.overruns
	l.overruns = nil
	for i := range seats {
		seat := &seats[i]
		if seat.Spent == "" || seat.Idle || seat.Gone {
			continue
		}
		o, ok := before[seat.Name]
		if !ok || o.turn != seat.Turn {
			o = overrun{turn: seat.Turn, until: now.Add(l.grace(seat.Name))}
		}
		if !o.cut && !now.Before(o.until) {
			o.cut = true
			late = append(late, seat)
		}
		note(&l.overruns, seat.Name, o)
	}
	return late
}

// grace returns how long a member's turn may go on after a limit is used up. l.mu must be held.
func (l *Ledger) grace(member string) time.Duration {
	if a := l.accounts[member]; a != nil && a.program {
		if u, _ := l.over(member); u.Limit > 0 && u.Full() && u.What != events.Time && !a.held {
			return 0 // each further request would exceed the limit
		}
		return handOverTimeProgram
	}
	return handOverTime
}
