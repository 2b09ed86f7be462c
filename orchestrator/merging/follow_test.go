package merging

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/coveyteam/covey/tasks"

	"pgregory.net/rapid"
)

// TestLooseProperty: whatever happens to tasks and to their work, the unharvested ones are
// those that a look at all tasks finds.
func TestLooseProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, taken, list := newLoose(), map[string]bool{}, map[string]tasks.Task{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "id"))
			switch one, there := list[id]; rapid.IntRange(0, 4).Draw(t, "step") {
			case 0: // harvested
				taken[id] = true
			case 1: // harvested again: it may have been completed twice since the last look
				delete(taken, id)
				l.add(id, one.Owner)
			case 2:
				delete(list, id)
				if there {
					l.follow(tasks.Changes{Gone: []string{id}})
				}
			case 3: // all are read again
				l.follow(tasks.Changes{All: true, Tasks: slices.Collect(maps.Values(list))})
			default:
				one = tasks.Task{
					ID: id, Owner: rapid.SampledFrom([]string{"ana", "ben"}).Draw(t, "owner"),
					Status: rapid.SampledFrom([]tasks.Status{tasks.Pending, tasks.Completed}).Draw(t, "status"),
				}
				if list[id] = one; one.Status != tasks.Completed {
					delete(taken, id)
				}
				l.follow(tasks.Changes{Tasks: []tasks.Task{one}})
			}
			for _, owner := range []string{"ana", "ben"} {
				var want []string
				for id, one := range list {
					if one.Owner == owner && one.Status == tasks.Completed && !taken[id] {
						want = append(want, id)
					}
				}
				have := l.of(owner, taken)
				slices.Sort(have)
				if slices.Sort(want); !slices.Equal(have, want) {
					t.Fatalf("%s has unharvested %v, want %v", owner, have, want)
				}
			}
		}
	})
}
