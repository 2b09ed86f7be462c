package tasks

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"

	"pgregory.net/rapid"
)

// changed returns what has changed.
func changed(t testing.TB, s *Store, since uint64) Changes {
	t.Helper()
	c, err := s.Changed(t.Context(), since)
	return ok(t, c, err)
}

// follow applies changes to a list of tasks.
func follow(list []Task, c Changes) []Task {
	if c.All {
		return c.Tasks
	}
	list = slices.DeleteFunc(list, func(t Task) bool {
		return slices.Contains(c.Gone, t.ID) || slices.ContainsFunc(c.Tasks, func(o Task) bool { return o.ID == t.ID })
	})
	list = append(list, c.Tasks...)
	slices.SortFunc(list, func(a, b Task) int { return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) })
	return list
}

// alter makes one change to the tasks of a store. A change that the store refuses is none.
func alter(t *rapid.T, s *Store, id string) {
	ctx, by := t.Context(), actors.Actor{}
	other := fmt.Sprint(rapid.IntRange(1, 8).Draw(t, "other"))
	status := rapid.SampledFrom([]Status{Pending, InProgress, Completed}).Draw(t, "status")
	owner := rapid.SampledFrom([]string{"", "ann", "ben"}).Draw(t, "owner")
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		n := New{Subject: "one", Owner: owner}
		if _, err := s.Task(ctx, other); err == nil {
			n.BlockedBy = []string{other}
		}
		_, _ = s.Add(ctx, by, []New{n, {Subject: "two"}})
	case 1:
		_, _ = s.Create(ctx, by, New{Subject: "proposed"})
	case 2:
		_, _ = s.Confirm(ctx, by, id)
	case 3:
		_, _, _ = s.Update(ctx, by, id, Patch{Status: &status, Owner: &owner})
	case 4:
		_, _, _ = s.Update(ctx, by, id, Patch{AddBlockedBy: []string{other}})
	case 5:
		_, _ = s.Delete(ctx, by, id, nil)
	case 6:
		_ = Charge(ctx, s, []string{id}, Cost{Tokens: 1})
	}
}

// TestChangedProperty: who applies what Changed returns has the list of all tasks, whatever
// happened to them and however much of it at once.
func TestChangedProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t, nil)
		var list []Task
		since := uint64(0)
		for step := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			alter(rt, s, fmt.Sprint(rapid.IntRange(1, 8).Draw(rt, "id")))
			if rapid.Bool().Draw(rt, "wait") {
				continue
			}
			c := changed(t, s, since)
			if c.All != (since == 0) {
				rt.Fatalf("step %d: all tasks %v since %d", step, c.All, since)
			}
			list, since = follow(list, c), c.Now
			if want := ok1(t)(s.List(t.Context())); len(want)+len(list) > 0 && !reflect.DeepEqual(list, want) {
				rt.Fatalf("step %d: after %+v\n%+v\nwant\n%+v", step, c, list, want)
			}
		}
	})
}

// TestChangedWhileWriting: what is committed while somebody reads is in that answer or in the
// next one.
func TestChangedWhileWriting(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 50 {
				if _, err := s.Add(t.Context(), actors.Actor{}, []New{{Subject: "one"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writers.Wait(); close(written) }()
	var list []Task
	since := uint64(0)
	for over := false; !over; {
		select {
		case <-written:
			over = true
		default:
		}
		c := changed(t, s, since)
		list, since = follow(list, c), c.Now
	}
	if want := ok1(t)(s.List(t.Context())); len(list) != 200 || !reflect.DeepEqual(list, want) {
		t.Errorf("%d tasks of %d", len(list), len(want))
	}
}

// TestChangedAfterLong: who has waited for too long, or begins in another life of the store,
// gets all tasks.
func TestChangedAfterLong(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	manyTasks(t, s, 10)
	first := changed(t, s, 0)
	manyTasks(t, s, 20_000)
	c := changed(t, s, first.Now)
	if !c.All || len(c.Tasks) != 20_010 {
		t.Errorf("all %v, %d tasks", c.All, len(c.Tasks))
	}
	if c = changed(t, s, c.Now); c.All || len(c.Tasks)+len(c.Gone) > 0 {
		t.Errorf("nothing has changed but %d tasks, all %v", len(c.Tasks), c.All)
	}
	path := raw(t, s).Path()
	closed(t, s)
	s = openAt(t, path, nil)
	if c = changed(t, s, first.Now); !c.All {
		t.Error("a store that was opened again knows what changed before")
	}
}
