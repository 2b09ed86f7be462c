package merging

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// paperQueue is a queue that has a store and no repository: what it decides by what it
// has written down alone.
func paperQueue(t testing.TB, members ...string) *Queue {
	t.Helper()
	return &Queue{Store: newStore(t), Team: func() *configs.Team { return specOf(members) }}
}

// stands brings a piece of work into a state, with each step on the way.
func stands(t testing.TB, q *Queue, state tasks.MergeState, ids ...string) tasks.Merge {
	t.Helper()
	m, err := q.Store.Merges().Propose(t.Context(), actors.Actor{}, tasks.Merge{
		Branch: "covey/crew/" + string(state), Commit: "c", From: "f", Into: "main", Member: "ana",
		Title: "the work", State: tasks.MergeWaiting, Tasks: ids,
	})
	testkit.Must(t, err)
	way := []tasks.MergeState{state}
	switch state {
	case tasks.MergeTesting:
		way = []tasks.MergeState{tasks.MergeQueued, state}
	case tasks.MergeLanding:
		way = []tasks.MergeState{tasks.MergeQueued, tasks.MergeTesting, state}
	}
	m.Base, m.Result = "b", "r"
	for _, next := range way {
		m, err = q.set(t.Context(), m, next, "because")
		testkit.Must(t, err)
	}
	return m
}

// allStates are those that work can be in.
var allStates = []tasks.MergeState{
	tasks.MergeWaiting, tasks.MergeQueued, tasks.MergeTesting, tasks.MergeLanding, tasks.MergeHeld,
	tasks.MergeReturned, tasks.MergeReady, tasks.MergeDone, tasks.MergeDropped,
}

// TestStatesAfterARestart: what was cut off is begun anew, what a person was to see to is
// tried again, and what waits for somebody goes on to wait.
func TestStatesAfterARestart(t *testing.T) {
	t.Parallel()
	q := paperQueue(t, "ana")
	for _, s := range allStates {
		stands(t, q, s)
	}
	for range 2 { // a second crash makes no difference
		testkit.Must(t, q.Recover(t.Context()))
		list, err := q.Store.Merges().List(t.Context())
		testkit.Must(t, err)
		for i, m := range list {
			want := allStates[i]
			switch want {
			case tasks.MergeTesting, tasks.MergeLanding, tasks.MergeHeld:
				want = tasks.MergeQueued
			}
			if m.State != want {
				t.Errorf("%s became %s, want %s", allStates[i], m.State, want)
			}
		}
	}
}

// TestStatesOnRequest: who asks for work has it queued, unless covey is at it or it is
// over, and only what was asked for.
func TestStatesOnRequest(t *testing.T) {
	t.Parallel()
	q := paperQueue(t, "ana")
	for _, s := range allStates {
		stands(t, q, s)
	}
	none, err := q.Request(t.Context(), "lead", false, func(tasks.Merge) bool { return false })
	if err != nil || len(none) != 0 {
		t.Errorf("nothing was asked for: %+v, %v", none, err)
	}
	asked, err := q.Request(t.Context(), "lead", false, func(tasks.Merge) bool { return true })
	if err != nil || len(asked) != len(allStates)-2 {
		t.Fatalf("%+v, %v", asked, err)
	}
	for i, m := range asked {
		was := allStates[i]
		switch {
		case was.Busy() && (m.State != was || m.By != ""):
			t.Errorf("%s became %s by %q", was, m.State, m.By)
		case !was.Busy() && (m.State != tasks.MergeQueued || m.By != "lead" || m.Reason != ""):
			t.Errorf("%s became %s by %q (%s)", was, m.State, m.By, m.Reason)
		}
	}
}

// TestStatesOfAnAnswer: an answer moves the work that was asked about while it is held;
// another's, or one that comes too late, moves nothing.
func TestStatesOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from tasks.MergeState
		say  Answer
		want tasks.MergeState
	}{
		"yes":           {tasks.MergeHeld, Answer{ID: "q1", Yes: true}, tasks.MergeQueued},
		"no":            {tasks.MergeHeld, Answer{ID: "q1", No: true, Text: "not this"}, tasks.MergeReturned},
		"of another":    {tasks.MergeHeld, Answer{ID: "q2", Yes: true}, tasks.MergeHeld},
		"too late":      {tasks.MergeQueued, Answer{ID: "q1", No: true}, tasks.MergeQueued},
		"when all over": {tasks.MergeDone, Answer{ID: "q1", No: true}, tasks.MergeDone},
	} {
		q := paperQueue(t, "ana")
		m := stands(t, q, tasks.MergeHeld)
		m.Asked = "q1"
		m, err := q.set(t.Context(), m, tc.from, "")
		testkit.Must(t, err)
		testkit.Must(t, q.Decide(t.Context(), tc.say))
		list, err := q.Store.Merges().List(t.Context())
		testkit.Must(t, err)
		if list[0].State != tc.want {
			t.Errorf("%s: %s became %s, want %s", name, m.State, list[0].State, tc.want)
		}
		if tc.want == tasks.MergeReturned && !strings.HasSuffix(list[0].Reason, ": not this") {
			t.Errorf("%s: reason %q", name, list[0].Reason)
		}
	}
}

// TestStatesAfterAQuestion to whoever must agree: each of their answers leads somewhere,
// and work is never let through without a yes.
func TestStatesAfterAQuestion(t *testing.T) {
	t.Parallel()
	broken := errors.New("no inbox")
	for name, tc := range map[string]struct {
		ask    func(context.Context, tasks.Merge, []string, []tasks.Merge) (Answer, error)
		files  []string
		want   tasks.MergeState
		reason string
		err    error
	}{
		"open":    {says(Answer{ID: "q"}, nil), nil, tasks.MergeHeld, "waits for approval; covey inbox", nil},
		"yes":     {says(Answer{Yes: true}, nil), []string{"a"}, tasks.MergeTesting, "because", nil},
		"no":      {says(Answer{No: true}, nil), []string{"a"}, tasks.MergeReturned, "not to be changed", nil},
		"trouble": {says(Answer{Yes: true}, broken), []string{"a"}, tasks.MergeTesting, "because", broken},
	} {
		q := paperQueue(t, "ana")
		spec := q.Team()
		spec.Merge.Gates = []hooks.Handler{{Approver: "lead"}}
		q.Team, q.Ask = func() *configs.Team { return spec }, tc.ask
		m, through, err := q.approved(t.Context(), stands(t, q, tasks.MergeTesting), bundle{}, tc.files)
		if !errors.Is(err, tc.err) || through != (name == "yes") {
			t.Errorf("%s: let through %v, error %v", name, through, err)
		}
		if m.State != tc.want || !strings.Contains(m.Reason, tc.reason) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, m.State, m.Reason, tc.want, tc.reason)
		}
	}
}

// says is somebody who always answers the same.
func says(a Answer, err error) func(context.Context, tasks.Merge, []string, []tasks.Merge) (Answer, error) {
	return func(context.Context, tasks.Merge, []string, []tasks.Merge) (Answer, error) { return a, err }
}

// TestStatesOfMending: work goes back to its author with a task as often as it may, and
// then to a person, without one; a member that has gone gets no task of its own.
func TestStatesOfMending(t *testing.T) {
	t.Parallel()
	for members, owner := range map[string]string{"ana": "ana", "ben": ""} {
		q := paperQueue(t, members)
		m := stands(t, q, tasks.MergeTesting)
		for round := 1; round <= maxRounds+1; round++ {
			var err error
			m, err = q.returnToAuthor(t.Context(), m, conflict(m, []string{"a.go"}))
			testkit.Must(t, err)
			want := tasks.MergeReturned
			if round > maxRounds {
				want = tasks.MergeHeld
			}
			if m.State != want || m.Round != round || m.Files[0] != "a.go" {
				t.Fatalf("round %d: %+v", round, m)
			}
			if round > maxRounds {
				continue
			}
			// What is merged again before it is mended stays with the same task.
			again, err := q.returnToAuthor(t.Context(), m, conflict(m, []string{"b.go"}))
			testkit.Must(t, err)
			if again.State != want || again.Round != round || again.Fix != m.Fix || again.Files[0] != "b.go" {
				t.Fatalf("again in round %d: %+v, after %+v", round, again, m)
			}
			m = again
			done := tasks.Completed
			_, _, err = q.Store.Update(t.Context(), actors.Actor{Name: actors.Operator}, m.Fix, tasks.Patch{Status: &done})
			testkit.Must(t, err)
		}
		if !strings.HasSuffix(m.Reason, "also after 3 attempts to fix it") {
			t.Errorf("reason %q", m.Reason)
		}
		list, err := q.Store.List(t.Context())
		if err != nil || len(list) != maxRounds {
			t.Fatalf("%d tasks, %v", len(list), err)
		}
		for _, task := range list {
			if task.Owner != owner || string(task.Metadata[KeyMerge]) != `"`+m.ID+`"` {
				t.Errorf("task of %q about %s, want of %q", task.Owner, task.Metadata[KeyMerge], owner)
			}
		}
	}
}
