package plan

import (
	"strings"
	"time"
)

// Lock says why a member's agent cannot be used for now.
type Lock string

// The states; empty: nothing keeps the member from its turns.
const (
	LockUsedUp Lock = "used up"     // until a time that has not come
	LockLogin  Lock = "logged out"  // until a person has done something
	LockFailed Lock = "failed"      // its last turn failed, and is tried again at a time that has not come
	LockTried  Lock = "being tried" // another member is just trying whether their login works again
	LockOver   Lock = "over"        // the member is owed a turn
)

// waits is what a team does in which nobody has anything to do, but somebody
// will once a usage limit is over.
func waits(s Scene) (Move, bool) {
	m := Move{Kind: WaitLimit}
	var mark strings.Builder
	for i := range s.Seats {
		seat := &s.Seats[i]
		if seat.Gone || seat.Held || seat.Lock != LockUsedUp || !needed(s, *seat) {
			continue
		}
		m.Names = append(m.Names, seat.Name)
		mark.WriteString(seat.Name + " " + seat.Until.UTC().Format(time.RFC3339Nano) + " ")
		if m.Until.IsZero() || seat.Until.Before(m.Until) {
			m.Until = seat.Until
		}
	}
	m.Mark = mark.String()
	return m, len(m.Names) > 0
}

// needed reports whether the team would miss a member that is locked out: the
// lead, whoever owns or could take something that is open, and in a team without
// tasks everybody.
func needed(s Scene, seat Seat) bool {
	if seat.Lead || len(s.Tasks) == 0 {
		return true
	}
	return s.hasWork(seat)
}

// atLimit says whose limit is to end the team (on_limit: stop): that of a member
// without which the team can do nothing more of what is open. Empty: nobody's.
func atLimit(s Scene) string {
	for _, seat := range s.Seats {
		if !seat.Gone && seat.Lock == LockUsedUp && needed(s, seat) {
			return seat.Name + ": " + seat.LockText + "; budget.on_limit is stop, so run `covey up` after that"
		}
	}
	return ""
}
