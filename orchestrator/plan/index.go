package plan

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// TaskIndex indexes the task list by member. It is made once per plan, so that
// the time of a plan grows with the number of members plus tasks, and not with
// their product.
type TaskIndex struct {
	all   []tasks.Task     // in list order
	owned map[string][]int // indexes of each member's open tasks
	wants []*wanted        // the open tasks without an owner
	looks int              // at a task or at what tasks want, for the test that bounds them
}

// wanted is a group of open tasks without an owner that require the same of a
// member. Most teams have few groups, even with many tasks.
type wanted struct {
	tasks.Wants
	free []int // indexes of those that are ready and not taken
}

// seatIndex holds the indexes of a scene's seats by name.
type seatIndex struct {
	at    map[string]int // nil until somebody is looked for: in most rounds nobody is
	looks int            // at a seat, for the test that bounds them
}

// indexed returns a scene with indexes of its tasks and seats, and with its tasks
// as in WithUnmerged.
func indexed(s Scene) Scene {
	if s.index == nil {
		s.Tasks = WithUnmerged(s.Tasks, s.Merging)
	}
	return withIndexes(s)
}

// withIndexes returns a scene with missing indexes added.
func withIndexes(s Scene) Scene {
	if s.index == nil {
		s.index = IndexTasks(s.Tasks)
	}
	if s.seats == nil {
		s.seats = &seatIndex{}
	}
	return s
}

// IndexTasks makes the index of tasks, in list order.
func IndexTasks(all []tasks.Task) *TaskIndex {
	x := &TaskIndex{all: all, owned: map[string][]int{}, looks: len(all)}
	groups := map[string]*wanted{}
	for i := range all {
		t := &all[i]
		switch {
		case t.Status == tasks.Completed:
			continue
		case t.Owner != "":
			x.owned[t.Owner] = append(x.owned[t.Owner], i)
			continue
		}
		key := wantsKey(t.Wants)
		g := groups[key]
		if g == nil {
			g = &wanted{Wants: t.Wants}
			groups[key], x.wants = g, append(x.wants, g)
		}
		if tasks.Ready(t, all) {
			g.free = append(g.free, i)
		}
	}
	return x
}

// wantsKey returns a key that identifies wants.
func wantsKey(w tasks.Wants) string {
	if w.Empty() {
		return ""
	}
	return fmt.Sprintf("%q %q %q", w.Role, w.Tools, w.Labels)
}

// Actable lists the tasks that a member owns and could work on now.
func (x *TaskIndex) Actable(member string) []tasks.Task {
	var own []tasks.Task
	for _, i := range x.owned[member] {
		x.looks++
		if t := &x.all[i]; t.Status == tasks.InProgress || tasks.Ready(t, x.all) {
			own = append(own, *t)
		}
	}
	return own
}

// take returns the first ready task that suits a member, as a list of one, or
// nil. It returns each task once.
func (x *TaskIndex) take(seat Seat) []tasks.Task {
	var first *wanted
	for _, g := range x.wants {
		x.looks++
		if len(g.free) > 0 && (first == nil || g.free[0] < first.free[0]) && len(seat.lacks(g.Wants)) == 0 {
			first = g
		}
	}
	if first == nil {
		return nil
	}
	i := first.free[0]
	first.free = first.free[1:]
	return x.all[i : i+1 : i+1]
}

// lacks returns what a member lacks to take a task by itself.
func (s *Seat) lacks(w tasks.Wants) []string {
	if s.OnlyReads && w.Empty() {
		return []string{"tools that change files"}
	}
	return w.Lacking(s.Skills)
}

// openOf returns the indexes of the open tasks that a member owns.
func (s Scene) openOf(member string) []int { return withIndexes(s).index.owned[member] }

// hasWork reports whether a member owns an open task, or would take one without
// an owner.
func (x *TaskIndex) hasWork(seat *Seat) bool {
	return len(x.owned[seat.Name]) > 0 || seat.SelfClaim && slices.ContainsFunc(x.wants, func(g *wanted) bool {
		x.looks++
		return len(seat.lacks(g.Wants)) == 0
	})
}

// place returns the index of a member's seat. It is not ok if the member has
// none.
func (s Scene) place(member string) (int, bool) {
	x := withIndexes(s).seats
	if x.at == nil {
		x.at = make(map[string]int, len(s.Seats))
		for i := range s.Seats {
			x.at[s.Seats[i].Name] = i
		}
	}
	x.looks++
	i, ok := x.at[member]
	return i, ok
}

// seat returns the seat of a member. It is not ok if the member has none.
func (s Scene) seat(member string) (*Seat, bool) {
	i, ok := s.place(member)
	if !ok {
		return nil, false
	}
	return &s.Seats[i], true
}
