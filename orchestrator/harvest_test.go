package orchestrator

import (
	"context"
	"slices"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestHarvestOfALongList: between two turns of a member with a working copy covey does not read
// the whole list of tasks.
func TestHarvestOfALongList(t *testing.T) {
	r := treeRig(t)
	allocations := func() float64 {
		r.team.Journal.CatchUp(t.Context()) // which allocates, too
		return testing.AllocsPerRun(3, func() {
			r.team.Merges.HarvestCompleted(t.Context(), "dev")
			r.team.Merges.Freshen(t.Context(), "dev")
		})
	}
	short := allocations()
	more := make([]tasks.New, 5_000)
	for i := range more {
		more[i].Subject = "More"
	}
	_, err := r.team.Store.Load(t.Context(), tasks.Loading{Tasks: more})
	testkit.Must(t, err)
	r.team.Merges.HarvestCompleted(t.Context(), "dev") // takes in the new ones
	if long := allocations(); long > 1.3*short {
		t.Errorf("%.0f allocations with 2 tasks, %.0f with 5,000", short, long)
	}
	// A task that was completed without a call of the member's is harvested all the same.
	completed := tasks.Completed
	_, _, err = r.team.Store.Update(t.Context(), actors.Actor{}, "1", tasks.Patch{Status: &completed})
	testkit.Must(t, err)
	r.team.Merges.HarvestCompleted(t.Context(), "dev")
	if done, err := r.team.Store.Task(t.Context(), "1"); err != nil || !done.Unchanged {
		t.Errorf("task 1 is %+v, %v", done, err)
	}
}

// TestFinishedByWhoHangsUp: whoever has completed a task may hang up, while the team works or
// its loop has just ended; the work on it is taken down all the same.
func TestFinishedByWhoHangsUp(t *testing.T) {
	t.Parallel()
	r := treeRig(t)
	testkit.Put(t, r.seat("dev").Member.Dir, "made", "x")
	completed := tasks.Completed
	done, _, err := r.team.Store.Update(t.Context(), actors.Actor{}, "1", tasks.Patch{Status: &completed})
	if err != nil {
		t.Fatal(err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	r.team.Merges.HarvestTask(ctx, done) // as a member that is killed meanwhile
	if unmerged, problems := r.team.Merges.Unmerged(t.Context()); len(unmerged)+len(problems) == 0 {
		t.Error("nobody is told of work that was not taken down")
	}
	r.team.Loop.Close()
	ctx, ended := r.team.Asks.UntilEnd(ctx)
	defer ended()
	r.team.Merges.HarvestTask(ctx, done)
	merges, err := r.team.Store.Merges().List(t.Context())
	if err != nil || len(merges) != 1 || !slices.Equal(merges[0].Tasks, []string{"1"}) {
		t.Errorf("merges %+v, %v", merges, err)
	}
}
