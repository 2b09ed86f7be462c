package plan

import (
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// The moves of members that have used up a limit.
const (
	GiveLast Kind = "last"    // let Member finish and hand over: a limit is used up
	GiveUp   Kind = "used up" // Member takes no more turns for that Reason
)

// windDown returns the moves of a team that may begin nothing new, because its
// budget is used up or a vendor's limit ends it. Running turns continue to their
// ends.
func windDown(s Scene) []Move {
	var moves []Move
	busy := false
	for _, seat := range s.Seats {
		switch {
		case seat.Gone, seat.Held && seat.Idle:
		case !seat.Idle || seat.Helped:
			busy = true
		case s.Stopped == "" && owesLastWord(s, seat):
			moves = append(moves, Move{Kind: GiveLast, Member: seat.Name})
		}
	}
	switch {
	case busy || len(moves) > 0:
		return moves
	case s.Stopped == "" && len(s.Tasks) > 0 && len(withIndexes(s).index.owned)+len(withIndexes(s).index.wants) == 0:
		return []Move{{Kind: Finish, Done: true, Limit: true, Reason: "all work is done"}}
	case s.Stopped != "":
		return []Move{{Kind: Finish, Limit: true, Reason: s.Stopped}}
	}
	return []Move{{Kind: Finish, Limit: true, Reason: s.Exhausted}}
}

// last returns the move of an idle member that has used up its own limit: it
// hands over its work, and then a person has to raise the limit.
func last(s Scene, seat Seat) (Move, bool) {
	switch {
	case seat.Attention != "":
		return Move{}, false
	case owesLastWord(s, seat):
		return Move{Kind: GiveLast, Member: seat.Name}, true
	}
	return Move{Kind: GiveUp, Member: seat.Name, Reason: seat.Spent}, true
}

// owesLastWord reports whether a member still has to hand over: it has a task in
// progress, or it is the lead, which reports on the goal.
func owesLastWord(s Scene, seat Seat) bool {
	if seat.LastWord || seat.Lock != "" || seat.Attention != "" {
		return false
	}
	s = withIndexes(s)
	return seat.Lead || slices.ContainsFunc(s.openOf(seat.Name), func(i int) bool {
		return s.index.all[i].Status == tasks.InProgress
	})
}
