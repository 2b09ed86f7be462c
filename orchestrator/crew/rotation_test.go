package crew

import (
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
)

// TestDueForRotation: a member gets a new session once for each task that it has completed, and
// only while it has none in progress.
func TestDueForRotation(t *testing.T) {
	c := crewOf(t, Deps{}, "lead", "dev")
	s := addSeat(t, c, &configs.Member{Name: "dev", Rotate: configs.RotateAfterTask})
	store := c.deps.Store
	dev, err := store.Members().Attach(t.Context(), "dev", func() string { return "first" })
	testkit.Must(t, err)
	for _, owner := range []string{"dev", "dev", "lead"} {
		_, err := store.Load(t.Context(), tasks.Loading{Tasks: []tasks.New{{Subject: "work of " + owner, Owner: owner}}})
		testkit.Must(t, err)
	}
	set := func(id string, status tasks.Status) {
		t.Helper()
		_, _, err := store.Update(t.Context(), actors.Actor{}, id, tasks.Patch{Status: &status})
		testkit.Must(t, err)
	}
	due := func(when string, want bool) {
		t.Helper()
		if s.rotation.due = s.dueForRotation(t.Context()); s.rotation.due != want {
			t.Errorf("%s: due is %v", when, !want)
		}
	}
	due("nothing done", false)
	set("3", tasks.Completed)
	due("another's task done", false)
	set("1", tasks.Completed)
	due("a task done", true)
	for cause, want := range map[events.Cause]bool{events.ByMessage: true, events.ByNudge: true, events.ByResume: false} {
		if s.Rotates(teammate.Work{Cause: cause}) != want {
			t.Errorf("rotates for %s: %v", cause, !want)
		}
	}
	set("2", tasks.InProgress)
	due("another in progress", false)
	testkit.Must(t, store.Members().Renew(t.Context(), dev, "second"))
	set("2", tasks.Pending)
	due("in the new session", false)
	set("2", tasks.Completed)
	due("the second task done", true)
	s.Member.Member = &configs.Member{Name: "dev", Rotate: configs.RotateNever}
	due("without the key", false)
}
