package accounts

import (
	"time"

	"github.com/coveyteam/covey/events"
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

// Overrun returns the members whose turns have gone on for too long after a limit was used up.
// turns holds the turn of each member that is in one although a limit is used up.
//
// The crew calls it in each round. Each turn has its own time, so a member that begins another
// turn to hand over has the full time again. A turn is returned only once, because a turn that
// one interrupt does not end is not ended by a second.
func (l *Ledger) Overrun(turns map[string]int) (late []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, before := time.Now(), l.overruns
	l.overruns = make(map[string]overrun, len(turns))
	for member, turn := range turns {
		o, ok := before[member]
		if !ok || o.turn != turn {
			o = overrun{turn: turn, until: now.Add(l.grace(member))}
		}
		if !o.cut && !now.Before(o.until) {
			o.cut = true
			late = append(late, member)
		}
		l.overruns[member] = o
	}
	return late
}

// grace returns how long a member's turn may go on after a limit is used up. l.mu must be held.
func (l *Ledger) grace(member string) time.Duration {
	if a := l.accounts[member]; a != nil && a.program {
		if u, _ := l.over(member); u.Limit > 0 && u.Full() && u.What != events.Time {
			return 0 // each further request would exceed the limit
		}
		return handOverTimeProgram
	}
	return handOverTime
}
