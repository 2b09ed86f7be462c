package plan

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks"
)

// wait describes a member that waits for another one.
type wait struct {
	Who, For string // members
	What     string // for people: "ben's task 3"
}

// waitsOf returns the waits of members that do not work, in the order of the
// seats. Members that wait for a person or for a time are not included.
func waitsOf(s Scene) []wait {
	var list []wait
	for _, m := range s.Seats {
		switch {
		case m.Gone:
		case m.Awaits != "":
			if m.AwaitsFrom != "" {
				list = append(list, wait{m.Name, m.AwaitsFrom, m.Awaits})
			}
		case !m.Idle:
		default:
			list = append(list, idleWaits(s, m)...)
		}
	}
	return list
}

// withHeld returns a copy of seats with HeldBy set.
func withHeld(seats []Seat, by map[string]string) []Seat {
	if len(by) == 0 {
		return seats
	}
	seats = slices.Clone(seats)
	for i := range seats {
		seats[i].HeldBy = by[seats[i].Name]
	}
	return seats
}

// idleWaits returns what an idle member waits for: members that it depends on,
// and the blockers of the tasks that it owns.
func idleWaits(s Scene, m Seat) []wait {
	var list []wait
	if m.HeldBy != "" {
		list = append(list, wait{m.Name, m.HeldBy, m.HeldBy + "'s open work, which it depends on"})
	}
	for _, i := range s.openOf(m.Name) {
		own := s.Tasks[i]
		for _, by := range tasks.OpenBlockers(own, s.Tasks) {
			if by.Owner != "" && by.Owner != m.Name {
				list = append(list, wait{m.Name, by.Owner, by.Owner + "'s task " + by.ID})
			}
		}
	}
	return list
}

// cycleOf returns a cycle of members in which each waits for the next and the
// last for the first, or nil. It begins with the member that is first in the
// list.
func cycleOf(waits []wait) []wait {
	done := map[string]bool{} // members from which no cycle can be reached
	var path []wait
	var walk func(member string) []wait
	walk = func(member string) []wait {
		if i := slices.IndexFunc(path, func(w wait) bool { return w.Who == member }); i >= 0 {
			return slices.Clone(path[i:])
		}
		if done[member] {
			return nil
		}
		for _, w := range waits {
			if w.Who != member {
				continue
			}
			path = append(path, w)
			if found := walk(w.For); found != nil {
				return found
			}
			path = path[:len(path)-1]
		}
		done[member] = true
		return nil
	}
	for _, w := range waits {
		if found := walk(w.Who); found != nil {
			return found
		}
	}
	return nil
}

// waitText describes waits for people and models.
func waitText(waits []wait) string {
	words := make([]string, len(waits))
	for i, w := range waits {
		words[i] = w.Who + " waits for " + w.What
	}
	return strings.Join(words, ", ")
}

// inCircle returns the waitText of a cycle as the end of a sentence, or "" if
// there is none.
func inCircle(s Scene) string {
	if round := cycleOf(waitsOf(s)); round != nil {
		return "; they wait for each other: " + waitText(round)
	}
	return ""
}

// allWait tells the lead that no member works while members wait for members: in
// a cycle, or for one that does not answer. The questions have deadlines, but the
// lead can act before them. A member that waits for a person is no reason to tell
// the lead.
func allWait(s Scene) (Move, bool) {
	lead := s.Seats[0]
	if !lead.Idle || lead.Gone || lead.Held || lead.Attention != "" || lead.Lock != "" || lead.Awaits != "" {
		return Move{}, false
	}
	asked := false
	for _, m := range s.Seats {
		switch {
		case m.Gone:
		case m.Helped || m.Runs || m.Awaited, !m.Idle && m.Awaits == "", m.Awaits != "" && m.AwaitsFrom == "":
			return Move{}, false
		}
		asked = asked || m.AwaitsFrom != ""
	}
	if !asked {
		return Move{}, false
	}
	waits := waitsOf(s)
	mark := markWaits + waitText(waits)
	if s.LastImpasse == mark {
		return Move{}, false
	}
	reason := "nobody works: " + waitText(waits)
	if round := cycleOf(waits); round != nil {
		reason = "members wait for each other: " + waitText(round)
	}
	return Move{Kind: TellLead, Member: lead.Name, Reason: reason, Mark: mark}, true
}

// markWaits is the prefix of the mark of an impasse in which members wait for
// members.
const markWaits = "waits: "
