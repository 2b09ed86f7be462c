package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// LiftHolds ends the holds, in this scene, of members that the operator has written to since. After
// an interrupt unread mail from before counts, too, because it is what the member does next.
func (s *Scene) LiftHolds() {
	for i := range s.Seats {
		seat := &s.Seats[i]
		if seat.Held && slices.ContainsFunc(seat.Unread, func(m mail.Message) bool {
			return FromOperator(m) && (seat.HeldCut || m.Sent.After(seat.HeldSince))
		}) {
			seat.Held, seat.HeldCut, seat.HeldByPerson = false, false, false
		}
	}
}

// heldWork names the held members that have work left, and says how to resume
// them, and whether the operator holds any of them. It is empty if there are none,
// or if an open task does not wait for a held member.
func heldWork(s Scene) (reason string, byPerson bool) {
	var names []string
	for _, seat := range s.Seats {
		if seat.Held && !seat.Gone && (seat.HeldCut || leftTo(s, seat)) {
			names, byPerson = append(names, seat.Name), byPerson || seat.HeldByPerson
		}
	}
	if len(names) == 0 {
		return "", false
	}
	known := map[string]bool{}
	if slices.ContainsFunc(tasks.OpenTasks(s.Tasks), func(t tasks.Task) bool { return !heldUp(s, t, known) }) {
		return "", false
	}
	return fmt.Sprintf("%s is held; `covey resume %s` lets it go on",
		strings.Join(names, " and "), names[0]), byPerson
}

// leftTo reports whether a held member has work.
func leftTo(s Scene, seat Seat) bool {
	show, _ := SortMail(seat.Unread, s.Tasks, seat.Name)
	return len(show) > 0 || withIndexes(s).index.hasWork(&seat) ||
		seat.Lead && len(s.Tasks) > 0 && len(tasks.OpenTasks(s.Tasks)) == 0 && s.LastReport != Fingerprint(s.Tasks)
}

// heldUp reports whether a task waits for a held member, directly or for a
// blocker. known caches the results for other tasks, because many may wait for
// the same one.
func heldUp(s Scene, t tasks.Task, known map[string]bool) bool {
	if up, ok := known[t.ID]; ok {
		return up
	}
	by := tasks.OpenBlockers(t, s.Tasks)
	up := slices.ContainsFunc(by, func(b tasks.Task) bool { return heldUp(s, b, known) })
	switch {
	case len(by) > 0:
	case t.Owner != "":
		owner, ok := s.seat(t.Owner)
		up = ok && owner.Held && !owner.Gone
	default:
		up = slices.ContainsFunc(s.Seats, func(m Seat) bool {
			return m.Held && !m.Gone && m.SelfClaim && len(m.lacks(t.Wants)) == 0
		})
	}
	known[t.ID] = up
	return up
}
