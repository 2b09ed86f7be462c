package teamtools

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestCompletedAsItWasSeen: a task that changed after its gates saw it stays in
// progress, and people are told.
func TestCompletedAsItWasSeen(t *testing.T) {
	b := newTable(t)
	store := b.board.deps.Store
	if _, err := store.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: "a"}, {Subject: "b"}, {Subject: "c"}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2", "3"} {
		if _, err := store.Claim(t.Context(), actors.Actor{Name: "dev"}, id, tasks.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	var warned []string
	c := completer{b.board, func() bool { return true }, func(format string, args ...any) {
		warned = append(warned, fmt.Sprintf(format, args...))
	}}
	seen, err := c.InProgress(t.Context(), "dev")
	if err != nil || len(seen) != 3 {
		t.Fatal(seen, err)
	}
	subject := "a, and more"
	if _, _, err := store.Update(t.Context(), actors.Actor{Name: "lead"}, "1", tasks.Patch{Subject: &subject}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Delete(t.Context(), actors.Actor{Name: "lead"}, "2", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Passed(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if len(warned) != 2 || !strings.Contains(warned[0], "task 1 passed its gates and is not completed") {
		t.Errorf("warned %q", warned)
	}
	for id, want := range map[string]tasks.Status{"1": tasks.InProgress, "3": tasks.Completed} {
		if task, err := store.Task(t.Context(), id); err != nil || task.Status != want {
			t.Errorf("task %s is %s, %v", id, task.Status, err)
		}
	}
}

// TestCompletedOnceSecure: no task is completed whose work would not outlive its host, by a call or by
// the gates of a turn end.
func TestCompletedOnceSecure(t *testing.T) {
	b := newTable(t)
	store, completed := b.board.deps.Store, tasks.Completed
	for _, name := range []string{"a", "b"} {
		list, err := store.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: name}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Claim(t.Context(), actors.Actor{Name: "dev"}, list[0].ID, tasks.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	c := completer{b.board, func() bool { return true }, t.Logf}
	seen, err := c.InProgress(t.Context(), "dev")
	if err != nil || len(seen) != 2 {
		t.Fatal(seen, err)
	}
	for _, secure := range []bool{false, true} {
		if b.crew.insecure = errors.New("not pushed"); secure {
			b.crew.insecure = nil
		}
		person := b.as("", "")
		person.Force = true
		_, _, called := b.board.Update(t.Context(), person, "1", tasks.Patch{Status: &completed})
		passed := c.Passed(t.Context(), seen[1:])
		if !errors.Is(called, b.crew.insecure) || !errors.Is(passed, b.crew.insecure) {
			t.Errorf("secure %v: %v, %v", secure, called, passed)
		}
		for _, id := range []string{"1", "2"} {
			if task, err := store.Task(t.Context(), id); err != nil || (task.Status == completed) != secure {
				t.Errorf("secure %v: task %s is %s, %v", secure, id, task.Status, err)
			}
		}
	}
}
