package merging

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestReturnTwice: work that is back with its author does not go back again, whichever state it
// was in; and a second word makes no second task.
func TestReturnTwice(t *testing.T) {
	t.Parallel()
	for _, state := range []tasks.MergeState{
		tasks.MergeWaiting, tasks.MergeQueued, tasks.MergeTesting, tasks.MergeHeld, tasks.MergeReady,
	} {
		q := paperQueue(t, "ana")
		task := finished(t, q.Store, "ana")
		stands(t, q, state, task.ID)
		s := sender{q.Store, crew}
		first, err := s.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: "More."})
		testkit.Must(t, err)
		_, err = s.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: "Still more."})
		if !errors.Is(err, tasks.ErrTransition) || !strings.Contains(err.Error(), "as task "+first.Task) {
			t.Errorf("%s: the second time: %v", state, err)
		}
		if list, err := q.Store.List(t.Context()); err != nil || len(list) != 2 {
			t.Errorf("%s: %d tasks, %v", state, len(list), err)
		}
	}
}

// TestReturnWhileItIsTested: what the queue knew of the work before it was sent back counts for
// nothing: it can be moved no more with what a test has said.
func TestReturnWhileItIsTested(t *testing.T) {
	t.Parallel()
	q := paperQueue(t, "ana")
	task := finished(t, q.Store, "ana")
	tested := stands(t, q, tasks.MergeTesting, task.ID)
	_, err := sender{q.Store, crew}.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: "Wait."})
	testkit.Must(t, err)
	if _, err := q.set(t.Context(), tested, tasks.MergeLanding, "its gates agreed"); !errors.Is(err, tasks.ErrConflict) {
		t.Errorf("the result of the test: %v", err)
	}
	testkit.Must(t, q.Recover(t.Context())) // nor does a restart queue it again
	list, err := q.Store.Merges().List(t.Context())
	testkit.Must(t, err)
	if m := list[0]; m.State != tasks.MergeReturned || m.Reason != "a person sent it back: Wait." || m.Fix == "" {
		t.Errorf("%+v", m)
	}
}

// TestReturnOfWorkInRounds: a task may have been merged in several pieces. What is on its way
// counts before what was merged, and what was dropped counts for nothing.
func TestReturnOfWorkInRounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		q := paperQueue(t, "ana")
		task := finished(t, q.Store, "ana")
		past := rapid.SliceOfN(rapid.SampledFrom([]tasks.MergeState{tasks.MergeDone, tasks.MergeDropped}), 0, 3).Draw(rt, "past")
		for _, state := range past {
			stands(t, q, state, task.ID)
		}
		want := api.ReturnedOpen
		if slices.Contains(past, tasks.MergeDone) {
			want = api.ReturnedMerged
		}
		if rapid.Bool().Draw(rt, "on its way") {
			stands(t, q, tasks.MergeQueued, task.ID)
			want = api.ReturnedStopped
		}
		stands(t, q, tasks.MergeHeld, "another")
		reply, err := sender{q.Store, crew}.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: "More."})
		if err != nil || reply.How != want || (reply.Task == task.ID) != (want == api.ReturnedOpen) {
			rt.Fatalf("after %v: %+v, %v; want %s", past, reply, err, want)
		}
		list, err := q.Store.Merges().List(t.Context())
		if err != nil || list[len(list)-1].State != tasks.MergeHeld {
			rt.Fatalf("the work on another task: %+v, %v", list[len(list)-1], err)
		}
	})
}

// TestReturnOfWorkOfWhoHasLeft: in each way the work is open to all when its author has left.
func TestReturnOfWorkOfWhoHasLeft(t *testing.T) {
	t.Parallel()
	for _, state := range []tasks.MergeState{tasks.MergeQueued, tasks.MergeDone, tasks.MergeDropped} {
		q := paperQueue(t, "ana")
		task := finished(t, q.Store, "gone")
		m, err := q.Store.Merges().Propose(t.Context(), actors.Actor{}, tasks.Merge{
			Branch: "covey/crew/gone", Commit: "c", From: "f", Into: "main", Member: "gone", Title: "the work",
			State: tasks.MergeWaiting, Tasks: []string{task.ID},
		})
		testkit.Must(t, err)
		_, err = q.set(t.Context(), m, state, "because")
		testkit.Must(t, err)
		reply, err := sender{q.Store, crew}.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: "More."})
		testkit.Must(t, err)
		fix, err := q.Store.Task(t.Context(), reply.Task)
		testkit.Must(t, err)
		if reply.Member != "" || fix.Owner != "" || fix.Status != tasks.Pending {
			t.Errorf("%s: %+v, %+v", state, reply, fix)
		}
	}
}
