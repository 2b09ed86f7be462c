package budget

import "time"

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
	until time.Time // when it is interrupted
	cut   bool      // it was
}

// Overrun returns the members whose turns have gone on for too long after something was
// used up. turns has the turn of each member that is in one though something is used up.
//
// It is called in each round of the crew. An overrun belongs to one turn: a member that
// ends a turn and begins the next one, to hand over, has its time anew. A turn is returned
// once: what does not end by one interrupt does not end by a second.
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

// grace is how long a turn of a member may go on when something is used up. l.mu is held.
func (l *Ledger) grace(member string) time.Duration {
	if a := l.accounts[member]; a != nil && a.program {
		return handOverTimeProgram
	}
	return handOverTime
}
