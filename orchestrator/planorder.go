package orchestrator

import (
	"slices"

	"github.com/coveyteam/covey/tasks/mail"
)

// inOrder are the seats with those first that others wait for (depends_on), and else
// in their order: whether somebody gets work depends on what these are given now.
func inOrder(seats []seatView) []seatView {
	if !slices.ContainsFunc(seats, func(v seatView) bool { return len(v.DependsOn) > 0 }) {
		return seats
	}
	out := make([]seatView, 0, len(seats))
	seen := map[string]bool{}
	var add func(v seatView)
	add = func(v seatView) {
		if seen[v.Name] {
			return
		}
		seen[v.Name] = true // before the others: a ring ends here, should there be one
		for _, other := range seats {
			if len(v.DependsOn) == 0 {
				break
			}
			if slices.Contains(v.DependsOn, other.Name) {
				add(other)
			}
		}
		out = append(out, v)
	}
	for _, v := range seats {
		add(v)
	}
	return out
}

// heldBy is the first member that another waits for because it has open work; "" if
// none has. working are those who are given something just now.
func heldBy(s scene, seat seatView, working map[string]bool) string {
	for _, name := range seat.DependsOn {
		i := slices.IndexFunc(s.Seats, func(v seatView) bool { return v.Name == name })
		// Whoever takes no more turns ends nothing any more: nobody waits for it.
		if i < 0 || s.Seats[i].Gone {
			continue
		}
		if len(s.openOf(name)) > 0 || !s.Seats[i].Idle || working[name] {
			return name
		}
	}
	return ""
}

// onlyMail is what a member is given that has to wait for others: what people write
// to it, and no work.
func onlyMail(s scene, seat seatView) (move, bool) {
	show, _ := sortMail(seat.Unread, s.Tasks, seat.Name)
	if slices.ContainsFunc(show, func(m mail.Message) bool { return m.Kind != mail.TaskAssignment }) {
		return move{Kind: giveMail, Member: seat.Name}, true
	}
	return move{}, false
}
