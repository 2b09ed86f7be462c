package plan

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// TaskIndex is what plan asks of the task list for each member: made once for a plan, so
// that a plan takes a time for each member and each task, and not for each pair of them.
type TaskIndex struct {
	all   []tasks.Task     // in list order
	owned map[string][]int // the places of each member's open tasks
	wants []*wanted        // the open tasks that nobody has
	looks int              // at a task or at what tasks want, for the test that bounds them
}

// wanted are open tasks that nobody has and that all want the same of a member. Most teams
// have a few such groups, however many tasks there are.
type wanted struct {
	tasks.Wants
	free []int // the places of those that are ready and not taken
}

// seatIndex has the places of a scene's seats by name.
type seatIndex struct {
	at    map[string]int // nil until somebody is looked for: in most rounds nobody is
	looks int            // at a seat, for the test that bounds them
}

// indexed is a scene with indexes of its tasks and seats, in which work that is yet to be
// merged is not done.
func indexed(s Scene) Scene {
	if s.index == nil {
		s.Tasks = WithUnmerged(s.Tasks, s.Merging)
	}
	return withIndexes(s)
}

// withIndexes is a scene with the indexes that it lacks.
func withIndexes(s Scene) Scene {
	if s.index == nil {
		s.index = IndexTasks(s.Tasks)
	}
	if s.seats == nil {
		s.seats = &seatIndex{}
	}
	return s
}

// IndexTasks looks at each task once.
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

// wantsKey is the same for the same wants only.
func wantsKey(w tasks.Wants) string {
	if w.Role == "" && len(w.Tools)+len(w.Labels) == 0 {
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

// take gives a member the first ready task that suits it, as a list of one; nil if there is
// none. A task is given once.
func (x *TaskIndex) take(seat Seat) []tasks.Task {
	var first *wanted
	for _, g := range x.wants {
		x.looks++
		if len(g.free) > 0 && (first == nil || g.free[0] < first.free[0]) && len(g.Lacking(seat.Skills)) == 0 {
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

// openOf gives the places of the tasks that a member owns and that are not completed.
func (s Scene) openOf(member string) []int { return withIndexes(s).index.owned[member] }

// hasWork reports whether a member owns a task that is open, or would take one that nobody
// has.
func (x *TaskIndex) hasWork(seat *Seat) bool {
	return len(x.owned[seat.Name]) > 0 || seat.SelfClaim && slices.ContainsFunc(x.wants, func(g *wanted) bool {
		x.looks++
		return len(g.Lacking(seat.Skills)) == 0
	})
}

// place gives the place of a member's seat; false if it has none.
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

// seat gives what is known of a member; false if it has no seat.
func (s Scene) seat(member string) (*Seat, bool) {
	i, ok := s.place(member)
	if !ok {
		return nil, false
	}
	return &s.Seats[i], true
}
