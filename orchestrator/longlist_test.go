package orchestrator

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestHarvestOfALongList: between two turns of a member with a working copy covey does not read
// the whole list of tasks.
func TestHarvestOfALongList(t *testing.T) {
	g := newGrove(t, groveFiles("true", "true", "merge: {}\n"))
	r := crewRigOn(t, g.rig)
	testkit.Must(t, r.rooms.work.Trees.Ready(t.Context(), r.seat("ana").Member))
	allocations := func() float64 {
		r.rooms.journal.CatchUp(t.Context()) // which allocates, too
		return testing.AllocsPerRun(3, func() {
			r.rooms.work.Merges.HarvestCompleted(t.Context(), "ana")
			r.rooms.work.Merges.Freshen(t.Context(), "ana")
		})
	}
	short := allocations()
	more := make([]tasks.New, 5_000)
	for i := range more {
		more[i].Subject = "More"
	}
	_, err := r.rooms.store.Load(t.Context(), tasks.Loading{Tasks: more})
	testkit.Must(t, err)
	r.rooms.work.Merges.HarvestCompleted(t.Context(), "ana") // takes in the new ones
	if long := allocations(); long > 1.3*short {
		t.Errorf("%.0f allocations with 2 tasks, %.0f with 5,000", short, long)
	}
	// A task that was completed without a call of the member's is harvested all the same.
	completed := tasks.Completed
	_, _, err = r.rooms.store.Update(t.Context(), actors.Actor{}, "1", tasks.Patch{Status: &completed})
	testkit.Must(t, err)
	r.rooms.work.Merges.HarvestCompleted(t.Context(), "ana")
	if done, err := r.rooms.store.Task(t.Context(), "1"); err != nil || !done.Unchanged {
		t.Errorf("task 1 is %+v, %v", done, err)
	}
}
