package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/coveyteam/covey/tasks"

	"pgregory.net/rapid"
)

// state is what an index says, without the order of its groups.
func (x *TaskIndex) state() map[string]string {
	out := map[string]string{"all": fmt.Sprintf("%+v", x.all)}
	for owner, list := range x.owned {
		out["owner "+owner] = fmt.Sprint(list)
	}
	for _, g := range x.wants {
		out["wants "+wantsKey(g.Wants)] = fmt.Sprint(g.open, g.free)
	}
	if len(x.wants) != len(x.groups) {
		out["groups"] = fmt.Sprint(x.groups)
	}
	return out
}

// drawList draws a list of tasks of some of the ids 1 to 9.
func drawList(t *rapid.T) []tasks.Task {
	ids := rapid.SliceOfNDistinct(rapid.IntRange(1, 12), 0, 9, rapid.ID).Draw(t, "ids")
	slices.Sort(ids)
	list := make([]tasks.Task, len(ids))
	for i, n := range ids {
		task := &list[i]
		task.ID = strconv.Itoa(n)
		task.Status = rapid.SampledFrom([]tasks.Status{tasks.Pending, tasks.InProgress, tasks.Completed}).Draw(t, "status")
		if task.Owner = rapid.SampledFrom([]string{"", "ana", "ben"}).Draw(t, "owner"); task.Owner == "" && task.Status == tasks.InProgress {
			task.Owner = "ana"
		}
		if rapid.Bool().Draw(t, "wanting") {
			task.Wants.Role = "reviewer"
		}
		for _, by := range ids {
			if by != n && rapid.IntRange(0, 3).Draw(t, "blocked") == 0 {
				task.BlockedBy = append(task.BlockedBy, strconv.Itoa(by))
			}
		}
	}
	for i := range list {
		for _, id := range list[i].BlockedBy {
			by, _ := tasks.Find(list, id)
			list[by].Blocks = append(list[by].Blocks, list[i].ID)
		}
	}
	return list
}

// between returns what has changed from one list to another, and some that has not.
func between(t *rapid.T, was, now []tasks.Task) (c tasks.Changes) {
	for _, one := range was {
		if _, there := tasks.Find(now, one.ID); !there {
			c.Gone = append(c.Gone, one.ID)
		}
	}
	for _, one := range now {
		if i, there := tasks.Find(was, one.ID); !there || !reflect.DeepEqual(was[i], one) || rapid.Bool().Draw(t, "again") {
			c.Tasks = append(c.Tasks, one)
		}
	}
	return c
}

// TestIndexFollows: an index that was updated with any changes, and with any work being
// merged, is the index of the list that is there then.
func TestIndexFollows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var was []tasks.Task
		x := IndexTasks(nil)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			now := drawList(t)
			if keep := rapid.IntRange(0, 2).Draw(t, "keep"); keep > 0 { // mostly the same tasks
				now = vary(t, was, now)
			}
			merging := map[string]bool{"covey/crew/ana": true}
			for n := range 13 {
				if rapid.IntRange(0, 3).Draw(t, "merging") == 0 {
					merging[strconv.Itoa(n)] = true
				}
			}
			c := between(t, was, now)
			if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
				c = tasks.Changes{All: true, Tasks: slices.Clone(now)}
			}
			x.Update(c)
			x.Merge(merging)
			fresh := IndexTasks(WithUnmerged(slices.Clone(now), merging))
			if !maps.Equal(x.state(), fresh.state()) {
				t.Fatalf("after %+v, merging %v:\n%v\nwant\n%v", c, merging, x.state(), fresh.state())
			}
			was = now
		}
	})
}

// vary returns the first list with the owners, states and wants of the second one.
func vary(t *rapid.T, list, from []tasks.Task) []tasks.Task {
	list = slices.Clone(list)
	for i := range min(len(list), len(from)) {
		if rapid.Bool().Draw(t, "vary") {
			list[i].Status, list[i].Owner, list[i].Wants = from[i].Status, from[i].Owner, from[i].Wants
		}
	}
	return list
}

// TestPlansFromOneIndex: the plans from an index that is kept are those from the list, each as
// if it were the first.
func TestPlansFromOneIndex(t *testing.T) {
	s := idleCrowd(20, false)
	x := IndexTasks(slices.Clone(s.Tasks))
	kept := s
	kept.Use(x)
	for range 3 {
		if have, want := Next(kept), Next(s); !reflect.DeepEqual(have, want) {
			t.Fatalf("%+v\nwant\n%+v", have, want)
		}
	}
}
