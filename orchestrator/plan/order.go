package plan

import (
	"slices"

	"github.com/coveyteam/covey/tasks/mail"
)

// inOrder are the seats with those first that others wait for (depends_on), and
// else in their order: whether somebody gets work depends on what these are given
// now. depend says whether anybody waits for others.
func inOrder(s Scene) (order []Seat, depend bool) {
	seats := s.Seats
	for i := range seats { // by index, because a Seat is large
		depend = depend || len(seats[i].DependsOn) > 0
	}
	if !depend {
		return seats, false
	}
	out := make([]Seat, 0, len(seats))
	seen := make([]bool, len(seats))
	var add func(i int)
	add = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true // set before the recursion, so that a cycle ends here
		var others []int
		for _, name := range seats[i].DependsOn {
			if other, ok := s.place(name); ok {
				others = append(others, other)
			}
		}
		slices.Sort(others)
		for _, other := range others {
			add(other)
		}
		out = append(out, seats[i])
	}
	for i := range seats {
		add(i)
	}
	return out, true
}

// heldBy returns the first member that a seat depends on and that has open work,
// or "". working holds the members that get work in this plan.
func heldBy(s Scene, seat Seat, working map[string]bool) string {
	for _, name := range seat.DependsOn {
		other, ok := s.seat(name)
		// A member that takes no more turns finishes nothing, so nobody waits for
		// it.
		if !ok || other.Gone {
			continue
		}
		if len(s.openOf(name)) > 0 || !other.Idle || working[name] {
			return name
		}
	}
	return ""
}

// onlyMail returns the move of a member that has to wait for others: it gets mail
// of people, but no work.
func onlyMail(s Scene, seat Seat) (Move, bool) {
	show, _ := SortMail(seat.Unread, s.Tasks, seat.Name)
	if slices.ContainsFunc(show, func(m mail.Message) bool { return m.Kind != mail.TaskAssignment }) {
		return Move{Kind: GiveMail, Member: seat.Name}, true
	}
	return Move{}, false
}
