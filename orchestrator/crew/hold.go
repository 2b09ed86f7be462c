package crew

import (
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks/actors"
)

// viewHolds sets which of the seats are held.
func viewHolds(h *members.Holds, seats []plan.Seat) {
	for i := range seats {
		s := &seats[i]
		var hold members.Hold
		hold, s.Held = h.Keeps(s.Name, s.Unread)
		s.HeldCut, s.HeldByPerson = hold.Cut, hold.By == actors.Operator
	}
}

// held reports whether the member is held.
func (s *Seat) held() bool {
	_, held := s.crew.deps.Holds.Of(s.Member.Name)
	return held
}
