package orchestrator

import (
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// taskIndex is what plan asks of the task list for each member: made once for a plan, so
// that a plan takes a time for each member and each task, and not for each pair of them.
type taskIndex struct {
	all   []tasks.Task     // in list order
	owned map[string][]int // the places of each member's open tasks
	free  []int            // the places of ready tasks that nobody has and that are not taken
	looks int              // at a task, for the test that bounds them
}

// indexed is a scene with the index of its tasks.
func indexed(s scene) scene {
	s.Tasks = withUnmerged(s.Tasks, s.Merging)
	s.index = indexTasks(s.Tasks)
	return s
}

// indexTasks looks at each task once.
func indexTasks(all []tasks.Task) *taskIndex {
	x := &taskIndex{all: all, owned: map[string][]int{}, looks: len(all)}
	for i := range all {
		switch t := &all[i]; {
		case t.Status == tasks.Completed:
		case t.Owner != "":
			x.owned[t.Owner] = append(x.owned[t.Owner], i)
		case ready(t, all):
			x.free = append(x.free, i)
		}
	}
	return x
}

// actable is actable for the index.
func (x *taskIndex) actable(member string) []tasks.Task {
	var own []tasks.Task
	for _, i := range x.owned[member] {
		x.looks++
		if t := &x.all[i]; t.Status == tasks.InProgress || ready(t, x.all) {
			own = append(own, *t)
		}
	}
	return own
}

// take gives a member the first ready task that suits it; false if there is none. A task
// is given once.
func (x *taskIndex) take(seat seatView) (tasks.Task, bool) {
	for n, i := range x.free {
		x.looks++
		if suits(x.all[i], seat.Skills) {
			if n == 0 { // the usual case, which moves nothing
				x.free = x.free[1:]
			} else {
				x.free = slices.Delete(x.free, n, n+1)
			}
			return x.all[i], true
		}
	}
	return tasks.Task{}, false
}

// openOf gives the places of the tasks that a member owns and that are not completed.
func (s scene) openOf(member string) []int {
	if s.index == nil { // outside of a plan
		s = indexed(s)
	}
	return s.index.owned[member]
}
