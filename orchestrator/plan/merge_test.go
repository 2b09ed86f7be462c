package plan

import (
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// mergingScene is a team in which task 1 of ana is done and task 2 waits for it.
func mergingScene(merging bool) Scene {
	s := Scene{
		Tasks: []tasks.Task{
			{ID: "1", Status: tasks.Completed, Owner: "ana", Version: 3},
			{ID: "2", Status: tasks.Pending, BlockedBy: []string{"1"}, Version: 1},
		},
		Seats: []Seat{
			{Name: "lead", Lead: true, Idle: true}, {Name: "ana", Idle: true, SelfClaim: true},
		},
	}
	if merging {
		s.Merging = map[string]bool{"1": true}
	}
	return s
}

// A task does not begin before the work that it builds upon is where it begins from.
func TestPlanWaitsForMerges(t *testing.T) {
	if moves := Next(mergingScene(true)); len(moves) != 0 {
		t.Errorf("while task 1 is merged: %+v", moves)
	}
	moves := Next(mergingScene(false))
	if len(moves) != 1 || moves[0].Kind != GiveClaim || moves[0].Tasks[0].ID != "2" {
		t.Errorf("when it has been: %+v", moves)
	}
}

// A team with work on its way is not done, though all tasks are.
func TestPlanDoesNotEndWhileMerging(t *testing.T) {
	s := mergingScene(true)
	s.Tasks = s.Tasks[:1]
	s.LastReport = Fingerprint(s.Tasks)
	if moves := Next(s); len(moves) != 0 {
		t.Errorf("while task 1 is merged: %+v", moves)
	}
	if s.Tasks[0].Status != tasks.Completed {
		t.Error("the scene was changed")
	}
	s.Merging = nil
	if moves := Next(s); len(moves) != 1 || moves[0].Kind != Finish || !moves[0].Done {
		t.Errorf("when it has been: %+v", moves)
	}
}

// What is on its way can be work of no task: then nothing waits but the end.
func TestPlanWithLooseWork(t *testing.T) {
	s := mergingScene(false)
	s.Merging = map[string]bool{"covey/crew/ana": true}
	if moves := Next(s); len(moves) != 1 || moves[0].Kind != GiveClaim {
		t.Errorf("%+v", moves)
	}
}
