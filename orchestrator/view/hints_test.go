package view

import (
	"slices"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	done := &Task{Task: tasks.Task{ID: "2", Status: tasks.Completed}}
	gate := func(v Verdict, hooks ...HookRun) State {
		return State{Gates: []*Gate{{Event: "TaskCompleted", Task: "2", Verdict: v, Hooks: hooks}}}
	}
	merge := func(id, task, from, commit string, s tasks.MergeState) *Merge {
		return &Merge{Merge: tasks.Merge{ID: id, Tasks: []string{task}, From: from, Commit: commit, State: s, Title: "T" + task}}
	}
	for name, tc := range map[string]struct {
		state State
		gated bool
		task  *Task
		want  []string
	}{
		"agreed":       {gate(Agreed), true, done, nil},
		"no gates":     {State{}, false, done, nil},
		"forced":       {gate(Refused), true, done, []string{"no gate agreed"}},
		"not complete": {gate(Refused), true, &Task{Task: tasks.Task{ID: "2"}}, nil},
		"too old":      {State{Dropped: Dropped{Gates: 1}}, true, done, nil},
		"unchanged": {gate(Agreed), true, &Task{Task: tasks.Task{ID: "2", Status: tasks.Completed, Unchanged: true}},
			[]string{"nothing changed"}},
		"failed": {gate(Agreed, HookRun{Command: "x", FailedOpen: true}), true, done, []string{"hook failed"}},
		"it ran later": {gate(Agreed, HookRun{Command: "x", FailedOpen: true}, HookRun{Command: "x"}), true, done,
			nil},
		"upon returned work": {State{Merges: []*Merge{
			merge("1", "1", "a", "b", tasks.MergeReturned), merge("2", "3", "b", "c", tasks.MergeWaiting),
			merge("3", "2", "c", "d", tasks.MergeWaiting),
		}}, false, done, []string{"builds on returned work"}},
		"upon good work": {State{Merges: []*Merge{
			merge("1", "1", "a", "b", tasks.MergeWaiting), merge("2", "2", "b", "c", tasks.MergeWaiting),
		}}, false, done, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.state.Gated = tc.gated
			var got []string
			for _, a := range tc.state.Works().Facts(&tc.state, tc.task) {
				got = append(got, a.Word)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A task whose work is merged in the end says no more that it builds on anything.
func TestUponReturnedEnds(t *testing.T) {
	t.Parallel()
	s := &State{Merges: []*Merge{{Merge: tasks.Merge{ID: "1", Tasks: []string{"2"}, State: tasks.MergeDone}}}}
	if got := uponReturned(s, s.Works().Merges["2"], "2"); got != "" {
		t.Error(got)
	}
}
