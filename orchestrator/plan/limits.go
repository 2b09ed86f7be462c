package plan

import (
	"hash/fnv"
	"strconv"
)

// Lock is why a member's agent cannot be used for now.
type Lock string

// The locks. The empty Lock means that the member can take turns.
const (
	LockUsedUp Lock = "used up"     // until a time that has not come
	LockLogin  Lock = "logged out"  // until a person has done something
	LockFailed Lock = "failed"      // its last turn failed, and is tried again at a time that has not come
	LockTried  Lock = "being tried" // another member is just trying whether their login works again
	LockOver   Lock = "over"        // the member is owed a turn
)

// waits returns the move of a team in which no member has anything to do before a
// usage limit is over.
func waits(s Scene) (Move, bool) {
	s = withIndexes(s)
	m := Move{Kind: WaitLimit}
	all := fnv.New64a()
	var one []byte
	for i := range s.Seats {
		seat := &s.Seats[i]
		if seat.Gone || seat.Held || seat.Lock != LockUsedUp || !needed(s, seat) {
			continue
		}
		if m.Names == nil {
			m.Names = make([]string, 0, len(s.Seats)-i)
		}
		m.Names = append(m.Names, seat.Name)
		one = strconv.AppendInt(append(append(one[:0], seat.Name...), ' '), seat.Until.UnixNano(), 10)
		_, _ = all.Write(append(one, ' ')) // a hash takes everything
		if m.Until.IsZero() || seat.Until.Before(m.Until) {
			m.Until = seat.Until
		}
	}
	m.Mark = strconv.FormatUint(all.Sum64(), 16)
	return m, len(m.Names) > 0
}

// needed reports whether the team needs a member that is locked out: the lead, a
// member that owns or could take an open task, and in a team without tasks each
// member.
func needed(s Scene, seat *Seat) bool {
	if seat.Lead || len(s.Tasks) == 0 {
		return true
	}
	return withIndexes(s).index.hasWork(seat)
}

// atLimit describes the usage limit that ends the team (on_limit: stop): that of
// the first member that the team needs. It is empty if there is none.
func atLimit(s Scene) string {
	for i := range s.Seats {
		seat := &s.Seats[i]
		if !seat.Gone && seat.Lock == LockUsedUp && needed(s, seat) {
			return seat.Name + ": " + seat.LockText + "; budget.on_limit is stop, so run `covey up` after that"
		}
	}
	return ""
}
