package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	done := &Task{Task: tasks.Task{ID: "2", Status: tasks.Completed}}
	gate := func(v Verdict, hooks ...HookRun) State {
		return State{Gates: []*Gate{{Event: "TaskCompleted", Task: "2", Verdict: v, Hooks: hooks}}}
	}
	merge := func(id, task string, s tasks.MergeState, brings ...string) *Merge {
		return &Merge{Merge: tasks.Merge{ID: id, Tasks: []string{task}, State: s, Title: "T" + task, Member: "ana", Fix: "f" + task}, Brings: brings}
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
			merge("1", "1", tasks.MergeReturned), merge("2", "3", tasks.MergeWaiting, "1"),
			merge("3", "2", tasks.MergeWaiting, "1", "2"),
		}}, false, done, []string{"builds on returned work"}},
		"upon work that is revised": {State{Merges: []*Merge{
			merge("1", "1", tasks.MergeReturned), merge("2", "f1", tasks.MergeWaiting, "1"),
			merge("3", "2", tasks.MergeWaiting, "1", "2"),
		}}, false, done, nil},
		"upon good work": {State{Merges: []*Merge{
			merge("1", "1", tasks.MergeWaiting), merge("2", "2", tasks.MergeWaiting, "1"),
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

// TestUponReturned: all returned work is named, and what becomes of it. Merged work builds on nothing any more.
func TestUponReturned(t *testing.T) {
	t.Parallel()
	back := func(task string, refused bool) tasks.Merge {
		return tasks.Merge{Tasks: []string{task}, Title: "T" + task, Member: "ana", State: tasks.MergeReturned, Refused: refused, Fix: "f" + task}
	}
	own := tasks.Merge{Tasks: []string{"9"}, State: tasks.MergeWaiting}
	h, ok := UponReturned(own, []tasks.Merge{back("4", true), {Tasks: []string{"5"}}, back("7", false)})
	if want := "It builds on work that was sent back: task 4 (T4) of ana, task 7 (T7) of ana. It is not merged before that is revised and merged."; !ok || h.Text != want {
		t.Errorf("%+v", h)
	}
	if h, ok := UponReturned(own, []tasks.Merge{back("7", false)}); !ok || !strings.HasSuffix(h.Text, "task 7 (T7) of ana. Its merge brings that, too.") {
		t.Errorf("%+v", h)
	}
	own.Tasks = []string{"f7"}
	if h, ok := UponReturned(own, []tasks.Merge{back("7", true)}); ok {
		t.Errorf("its revision: %+v", h)
	}
	own = tasks.Merge{Tasks: []string{"9"}, State: tasks.MergeDone}
	if h, ok := UponReturned(own, []tasks.Merge{back("7", true)}); ok {
		t.Errorf("merged: %+v", h)
	}
}
