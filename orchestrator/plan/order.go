package plan

import (
	"slices"

	"github.com/coveyteam/covey/tasks/mail"
)

// inOrder are the seats with those first that others wait for (depends_on), and else
// in their order: whether somebody gets work depends on what these are given now. depend
// says whether anybody waits for others.
func inOrder(s Scene) (order []Seat, depend bool) {
	seats := s.Seats
	for i := range seats { // in place: a Seat is large
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
		seen[i] = true // before the others: a ring ends here, should there be one
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

// heldBy is the first member that another waits for because it has open work; "" if
// none has. working are those who are given something just now.
func heldBy(s Scene, seat Seat, working map[string]bool) string {
	for _, name := range seat.DependsOn {
		other, ok := s.seat(name)
		// Whoever takes no more turns ends nothing any more: nobody waits for it.
		if !ok || other.Gone {
			continue
		}
		if len(s.openOf(name)) > 0 || !other.Idle || working[name] {
			return name
		}
	}
	return ""
}

// onlyMail is what a member is given that has to wait for others: what people write
// to it, and no work.
func onlyMail(s Scene, seat Seat) (Move, bool) {
	show, _ := SortMail(seat.Unread, s.Tasks, seat.Name)
	if slices.ContainsFunc(show, func(m mail.Message) bool { return m.Kind != mail.TaskAssignment }) {
		return Move{Kind: GiveMail, Member: seat.Name}, true
	}
	return Move{}, false
}
