package plan

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// TaskIndex indexes the task list by member, so that the time of a plan does not grow with
// the product of members and tasks. Who keeps it from plan to plan updates it with what has
// changed, so that the time does not grow with the length of the list either.
type TaskIndex struct {
	all    []tasks.Task          // in list order
	owned  map[string][]int      // indexes of each member's open tasks, in order
	wants  []*wanted             // the open tasks without an owner
	groups map[string]*wanted    // wants by wantsKey
	hidden map[string]tasks.Task // what Merge has replaced in all, by id
	looks  int                   // at a task or at what tasks want, for the test that bounds them
}

// wanted is a group of open tasks without an owner that require the same of a
// member. Most teams have few groups, even with many tasks.
type wanted struct {
	tasks.Wants
	open  int   // how many tasks it has
	free  []int // indexes of those that are ready, in order
	taken int   // how many of free this plan has given away
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
	s = withIndexes(s)
	for _, g := range s.index.wants {
		g.taken = 0
	}
	return s
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

// Use makes x, which the caller keeps up to date, the tasks of the scene.
func (s *Scene) Use(x *TaskIndex) { s.Tasks, s.index = x.all, x }

// Actable lists the tasks that a member owns and could work on now.
func (s *Scene) Actable(member string) []tasks.Task { return withIndexes(*s).index.Actable(member) }

// IndexTasks makes the index of tasks, in list order.
func IndexTasks(all []tasks.Task) *TaskIndex {
	x := &TaskIndex{
		all: all, owned: map[string][]int{}, groups: map[string]*wanted{}, hidden: map[string]tasks.Task{}, looks: len(all),
	}
	for i := range all {
		x.enter(i)
	}
	return x
}

// Update applies what has changed in the list of tasks. After it, Merge has to be called
// again. Most changes cost nothing for the other tasks; a deleted task and a new one that is
// not the last cost an index of all.
func (x *TaskIndex) Update(c tasks.Changes) {
	if c.All {
		*x = *IndexTasks(c.Tasks)
		return
	}
	moved := x.drop(c.Gone)
	var added []tasks.Task
	for _, t := range c.Tasks {
		delete(x.hidden, t.ID)
		switch i, there := tasks.Find(x.all, t.ID); {
		case there && moved:
			x.all[i] = t
		case there:
			x.set(i, t)
		default:
			added = append(added, t)
		}
	}
	if len(added) > 0 && !moved { // they are in order
		at, _ := tasks.Find(x.all, added[0].ID)
		moved = at < len(x.all)
	}
	if moved {
		x.Merge(nil)
		x.all = append(x.all, added...)
		slices.SortFunc(x.all, func(a, b tasks.Task) int { return tasks.CompareIDs(a.ID, b.ID) })
		*x = *IndexTasks(x.all)
		return
	}
	for _, t := range added {
		x.all = append(x.all, t)
		x.enter(len(x.all) - 1)
		x.recheck(t.Blocks)
	}
}

// drop removes tasks from the list, and reports whether any was there. Then the list has to be
// indexed again.
func (x *TaskIndex) drop(ids []string) bool {
	gone := map[string]bool{}
	for _, id := range ids {
		if _, there := tasks.Find(x.all, id); there {
			gone[id] = true
		}
	}
	if len(gone) == 0 {
		return false
	}
	x.Merge(nil)
	x.all = slices.DeleteFunc(x.all, func(t tasks.Task) bool { return gone[t.ID] })
	return true
}

// Merge changes the list to that of WithUnmerged for these tasks.
func (x *TaskIndex) Merge(merging map[string]bool) {
	for id, t := range x.hidden {
		if i, ok := tasks.Find(x.all, id); ok && !merging[id] {
			delete(x.hidden, id)
			x.set(i, t)
		}
	}
	for id := range merging {
		if i, ok := tasks.Find(x.all, id); ok && x.all[i].Status == tasks.Completed {
			x.hidden[id] = x.all[i]
			x.set(i, asUnmerged(x.all[i]))
		}
	}
}

// set replaces a task.
func (x *TaskIndex) set(i int, t tasks.Task) {
	was := x.all[i]
	x.leave(i)
	x.all[i] = t
	x.enter(i)
	if (was.Status == tasks.Completed) != (t.Status == tasks.Completed) {
		x.recheck(t.Blocks)
	}
}

// recheck updates whether tasks are ready after one of their blockers has changed.
func (x *TaskIndex) recheck(ids []string) {
	for _, id := range ids {
		if i, ok := tasks.Find(x.all, id); ok {
			x.leave(i)
			x.enter(i)
		}
	}
}

// enter adds a task to the lists that it belongs to.
func (x *TaskIndex) enter(i int) {
	t := &x.all[i]
	switch {
	case t.Status == tasks.Completed || unmerged(t):
	case t.Owner != "":
		x.owned[t.Owner] = with(x.owned[t.Owner], i)
	default:
		key := wantsKey(t.Wants)
		g := x.groups[key]
		if g == nil {
			g = &wanted{Wants: t.Wants}
			x.groups[key], x.wants = g, append(x.wants, g)
		}
		g.open++
		if tasks.Ready(t, x.all) {
			g.free = with(g.free, i)
		}
	}
}

// leave undoes enter.
func (x *TaskIndex) leave(i int) {
	t := &x.all[i]
	switch {
	case t.Status == tasks.Completed || unmerged(t):
	case t.Owner != "":
		if x.owned[t.Owner] = without(x.owned[t.Owner], i); len(x.owned[t.Owner]) == 0 {
			delete(x.owned, t.Owner)
		}
	default:
		key := wantsKey(t.Wants)
		g := x.groups[key]
		g.free = without(g.free, i)
		if g.open--; g.open == 0 {
			delete(x.groups, key)
			x.wants = slices.DeleteFunc(x.wants, func(other *wanted) bool { return other == g })
		}
	}
}

// with returns an ordered list with i added.
func with(list []int, i int) []int {
	if at, there := slices.BinarySearch(list, i); !there {
		list = slices.Insert(list, at, i)
	}
	return list
}

// without returns an ordered list with i removed.
func without(list []int, i int) []int {
	switch at, there := slices.BinarySearch(list, i); {
	case !there:
		return list
	case at == 0: // the usual case, because the first is taken first
		return list[1:]
	default:
		return slices.Delete(list, at, at+1)
	}
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
// nil. It returns each task once in a plan.
func (x *TaskIndex) take(seat Seat) []tasks.Task {
	var first *wanted
	for _, g := range x.wants {
		x.looks++
		if g.taken < len(g.free) && (first == nil || g.free[g.taken] < first.free[first.taken]) && len(seat.lacks(g.Wants)) == 0 {
			first = g
		}
	}
	if first == nil {
		return nil
	}
	i := first.free[first.taken]
	first.taken++
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
